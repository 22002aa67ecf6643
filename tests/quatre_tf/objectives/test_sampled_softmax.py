import functools

import numpy as np
import pytest
import tensorflow as tf

from quatre_tf.objectives.query_objective import SoftmaxOptions
from quatre_tf.objectives.sampled_candidates import Candidates
from quatre_tf.objectives.sampled_softmax import sampled_softmax_objective
from quatre_tf.objectives.self_adversarial import self_adversarial_objective
from tests.batches import dense_gradients
from tests.quatre_tf.objectives.test_candidate_softmax import ENTITIES, check, make, make_batch

OPTIONS = SoftmaxOptions(n3=0.1, dura=0.2, relation_prediction=0.5)


def candidates_of(batch, entities):
    """The sampled entities, and the targets among them."""
    targets, places = np.nonzero(batch.targets.numpy()[:, np.newaxis] == np.asarray(entities))
    hits = np.stack([batch.rows.numpy()[targets], places], axis=1)
    return Candidates(tf.constant(entities, tf.int32), tf.constant(hits, tf.int32))


@pytest.mark.parametrize("reciprocal", [True, False])
@pytest.mark.parametrize("sampled", [ENTITIES, 3])
def test_value_and_gradient(rng, reciprocal, sampled):
    """With all entities sampled it is the exact objective."""
    model, batch = make(reciprocal=reciprocal, normalize_relations=False), make_batch(rng)
    entities = rng.permutation(ENTITIES)[:sampled]
    objective = sampled_softmax_objective(
        model, batch, candidates_of(batch, entities), OPTIONS, num_targets=30.0
    )
    candidates = None if sampled == ENTITIES else entities
    check(objective, model, batch, OPTIONS, 30.0, candidates)


@pytest.mark.parametrize(
    "objective_of",
    [
        sampled_softmax_objective,
        functools.partial(self_adversarial_objective, margin=3.0, temperature=0.5),
    ],
    ids=["softmax", "self-adversarial"],
)
def test_query_whose_every_candidate_is_a_target(rng, objective_of):
    model, batch = make(reciprocal=True), make_batch(rng)
    only = candidates_of(batch, [int(batch.targets[0])])
    objective = objective_of(model, batch, only, SoftmaxOptions(), num_targets=30.0)
    assert all(np.isfinite(gradient).all() for gradient in dense_gradients(objective, model))
    assert np.isfinite(objective.loss)


@pytest.mark.parametrize("reciprocal", [True, False])
def test_relations_that_no_query_asks_for_have_no_gradient(rng, reciprocal):
    model, batch = make(reciprocal=reciprocal), make_batch(rng)
    # Tails of relation 0 and heads of relation 0, which is the same row where there is one.
    asked = np.array([0, 2, 2, 2, 0, 2, 2, 0, 2, 2, 0], np.int32)
    batch = batch._replace(relations=tf.constant(asked))
    objective = sampled_softmax_objective(
        model, batch, candidates_of(batch, [1, 4]), SoftmaxOptions(n3=0.1), num_targets=30.0
    )
    for gradient in objective.gradients[1:]:
        assert sorted(gradient.indices.numpy()) == ([0, 2] if reciprocal else [0])
