import numpy as np
import pytest
import tensorflow as tf

from quatre_tf import QuatRE
from quatre_tf.objectives.candidate_softmax import candidate_softmax_objective
from quatre_tf.objectives.query_objective import SoftmaxOptions
from quatre_tf.objectives.sampled_softmax import Candidates, sampled_softmax_objective
from tests.quatre_tf.objectives.test_candidate_softmax import (
    ENTITIES,
    dense_gradients,
    make,
    make_batch,
)

OPTIONS = SoftmaxOptions(n3=0.1, dura=0.2, relation_prediction=0.5)


def candidates_of(batch, entities):
    """The sampled entities, and the targets among them, by loops."""
    hits = [
        (row, place)
        for row, target in zip(batch.rows.numpy(), batch.targets.numpy(), strict=True)
        for place, entity in enumerate(entities)
        if entity == target
    ]
    return Candidates(
        tf.constant(entities, tf.int32), tf.constant(np.reshape(hits, [-1, 2]), tf.int32)
    )


@pytest.mark.parametrize("reciprocal", [True, False])
def test_all_entities_give_the_exact_objective(rng, reciprocal):
    model, batch = make(reciprocal=reciprocal, normalize_relations=False), make_batch(rng)
    exact = candidate_softmax_objective(model, batch, OPTIONS, num_targets=30.0)
    everyone = candidates_of(batch, rng.permutation(ENTITIES))
    sampled = sampled_softmax_objective(model, batch, everyone, OPTIONS, num_targets=30.0)
    np.testing.assert_allclose(sampled.loss, exact.loss, rtol=1e-6)
    np.testing.assert_allclose(sampled.regularization, exact.regularization, rtol=1e-6)
    pairs = [dense_gradients(objective, model) for objective in (sampled, exact)]
    for ours, expected in zip(*pairs, strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-6)


def test_loss_of_sampled_candidates(rng):
    """By loops over queries, from the plain scores."""
    model, batch = make(reciprocal=True, normalize_relations=False), make_batch(rng)
    entities = [3, 5, 8, 16]
    options = SoftmaxOptions()
    sampled = sampled_softmax_objective(
        model, batch, candidates_of(batch, entities), options, num_targets=1.0
    )
    scores = model.score_tails(batch.entities, batch.relations).numpy().astype(np.float64)
    expected = 0.0
    for row, count in enumerate(batch.counts.numpy()):
        targets = batch.targets.numpy()[batch.rows.numpy() == row]
        others = [entity for entity in entities if entity not in targets]
        total = np.exp(scores[row, targets]).sum()
        total += ENTITIES / len(entities) * np.exp(scores[row, others]).sum()
        expected += count * np.log(total) - scores[row, targets].sum()
    np.testing.assert_allclose(sampled.loss, expected, rtol=1e-5)


def test_gradient_is_that_of_the_loss(rng):
    """Against finite differences of the loss along random directions."""
    model, batch = make(reciprocal=True, normalize_relations=False), make_batch(rng)
    candidates = candidates_of(batch, [3, 5, 8, 16])

    def value():
        objective = sampled_softmax_objective(model, batch, candidates, OPTIONS, num_targets=3.0)
        return objective, float(objective.loss + objective.regularization)

    objective, _ = value()
    gradients = dense_gradients(objective, model)
    for variable, gradient in zip(model.trainable_variables, gradients, strict=True):
        start = variable.numpy()
        direction = rng.normal(size=start.shape).astype(np.float32)
        slope = np.sum(gradient.astype(np.float64) * direction)
        values = []
        for step in (1e-2, -1e-2):
            variable.assign(start + step * direction)
            values.append(value()[1])
        variable.assign(start)
        assert (values[0] - values[1]) / 2e-2 == pytest.approx(slope, rel=1e-2, abs=1e-2)


def test_query_whose_every_candidate_is_a_target(rng):
    model, batch = make(reciprocal=True), make_batch(rng)
    only = candidates_of(batch, [int(batch.targets[0])])
    objective = sampled_softmax_objective(model, batch, only, SoftmaxOptions(), num_targets=30.0)
    assert all(np.isfinite(gradient).all() for gradient in dense_gradients(objective, model))
    assert np.isfinite(objective.loss)


# The prediction of relations asks for all of them, but for no more entities.
@pytest.mark.parametrize(
    ("options", "sizes"), [(SoftmaxOptions(n3=0.1), (12_345, 2 * 4_321)), (OPTIONS, (12_345,))]
)
def test_no_dense_pass_over_a_table(rng, options, sizes):
    """The graph of a step gathers and scatters rows; no op reads or makes a whole table."""
    model, batch = QuatRE(12_345, 4_321, 4, reciprocal=True), make_batch(rng)

    @tf.function
    def step(batch, candidates):
        return sampled_softmax_objective(
            model, batch, candidates, options, num_targets=18.0
        ).gradients

    graph = step.get_concrete_function(batch, candidates_of(batch, [1, 2, 3])).graph
    table_sized = [
        tensor.name
        for op in graph.get_operations()
        for tensor in op.outputs
        if tensor.shape.rank and tensor.shape[0] in sizes
    ]
    assert table_sized == []


@pytest.mark.parametrize("reciprocal", [True, False])
def test_relations_that_no_query_asks_for_have_no_gradient(rng, reciprocal):
    model, batch = make(reciprocal=reciprocal), make_batch(rng)
    # Tails of relation 0, heads of relations 0 and 2.
    asked = np.array([0, 3, 5, 3, 0, 3, 5, 0, 3, 3, 0], np.int32)
    batch = batch._replace(relations=tf.constant(asked))
    objective = sampled_softmax_objective(
        model, batch, candidates_of(batch, [1, 4]), SoftmaxOptions(n3=0.1), num_targets=30.0
    )
    for gradient in objective.gradients[1:]:
        assert sorted(gradient.indices.numpy()) == ([0, 3, 5] if reciprocal else [0, 2])
