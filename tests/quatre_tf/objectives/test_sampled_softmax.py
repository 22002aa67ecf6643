import functools

import numpy as np
import pytest
import tensorflow as tf

from quatre_tf.objectives.query_objective import SoftmaxOptions
from quatre_tf.objectives.sampled_candidates import sampled_objective
from quatre_tf.objectives.sampled_softmax import cross_entropy
from quatre_tf.objectives.self_adversarial import self_adversarial
from tests.batches import dense_gradients
from tests.quatre_tf.objectives.test_candidate_softmax import (
    DROPOUT,
    ENTITIES,
    check,
    dropping,
    make,
    make_batch,
)

OPTIONS = SoftmaxOptions(n3=0.1, dura=0.2, relation_prediction=0.5)


CROSS_ENTROPY = functools.partial(cross_entropy, num_entities=ENTITIES)


def sample(batch, entities):
    """The batch with sampled entities, and the targets among them."""
    targets, places = np.nonzero(batch.targets.numpy()[:, np.newaxis] == np.asarray(entities))
    hits = np.stack([batch.rows.numpy()[targets], places], axis=1)
    columns = {"candidates": entities, "hits": hits}
    return batch._replace(**{name: tf.constant(c, tf.int32) for name, c in columns.items()})


@pytest.mark.parametrize("reciprocal", [True, False])
@pytest.mark.parametrize("sampled", [ENTITIES, 3])
def test_value_and_gradient(rng, reciprocal, sampled):
    """With all entities sampled it is the exact objective."""
    model, batch = make(reciprocal=reciprocal, normalize_relations=False), make_batch(rng)
    entities = rng.permutation(ENTITIES)[:sampled]
    objective = sampled_objective(
        model, sample(batch, entities), OPTIONS, num_targets=30.0, loss=CROSS_ENTROPY
    )
    candidates = None if sampled == ENTITIES else entities
    check(objective, model, batch, OPTIONS, 30.0, candidates)


def test_dropped_floats_of_queries_are_not_scored(rng, monkeypatch):
    model, batch = make(reciprocal=True, normalize_relations=False), make_batch(rng)
    batch, kept = dropping(sample(batch, [1, 4, 6]), rng, monkeypatch)
    objective = sampled_objective(model, batch, DROPOUT, num_targets=30.0, loss=CROSS_ENTROPY)
    check(objective, model, batch, DROPOUT, 30.0, [1, 4, 6], kept)


@pytest.mark.parametrize(
    "loss",
    [CROSS_ENTROPY, functools.partial(self_adversarial, margin=3.0, temperature=0.5)],
    ids=["softmax", "self-adversarial"],
)
def test_query_whose_every_candidate_is_a_target(rng, loss):
    model, batch = make(reciprocal=True), make_batch(rng)
    only = sample(batch, [int(batch.targets[0])])
    objective = sampled_objective(model, only, SoftmaxOptions(), num_targets=30.0, loss=loss)
    assert all(np.isfinite(gradient).all() for gradient in dense_gradients(objective, model))
    assert np.isfinite(objective.loss)


@pytest.mark.parametrize("reciprocal", [True, False])
def test_relations_that_no_query_asks_for_have_no_gradient(rng, reciprocal):
    model, batch = make(reciprocal=reciprocal), make_batch(rng)
    # Tails of relation 0 and heads of relation 0, which is the same row where there is one.
    asked = np.array([0, 2, 2, 2, 0, 2, 2, 0, 2, 2, 0], np.int32)
    batch = batch._replace(relations=tf.constant(asked))
    batch, options = sample(batch, [1, 4]), SoftmaxOptions(n3=0.1)
    objective = sampled_objective(model, batch, options, num_targets=30.0, loss=CROSS_ENTROPY)
    for gradient in objective.gradients[1:]:
        assert sorted(gradient.indices.numpy()) == ([0, 2] if reciprocal else [0])
