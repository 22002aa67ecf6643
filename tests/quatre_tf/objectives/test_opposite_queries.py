"""The norms of the opposite queries of RESCAL; those of QuatRE are in test_candidate_softmax.py."""

import numpy as np
import pytest
import tensorflow as tf

from quatre_tf.layers.bilinear import RESCAL
from quatre_tf.objectives.opposite_queries import opposite_query_norms

DIM, RELATIONS, ENTITIES, WEIGHT = 3, 4, 6, 0.3


@pytest.mark.parametrize("reciprocal", [True, False])
def test_value_and_gradients(rng, reciprocal):
    matrices = rng.normal(size=[RELATIONS, DIM, DIM])
    table = rng.normal(size=[ENTITIES, DIM])
    # Three queries; no query has relation 1.
    relations, asks_head = np.array([2, 0, 3]), np.array([False, True, False])
    rows, targets = np.array([0, 0, 1, 2, 2, 2]), np.array([5, 1, 4, 0, 2, 3])
    value, target_gradient = 0.0, np.zeros([len(rows), DIM])
    matrix_gradient = np.zeros_like(matrices)
    for i, (row, target) in enumerate(zip(rows, targets, strict=True)):
        # `h' M t`: the query from a tail is `M t`, the one from a head `M' h`.
        from_head = asks_head[row] and not reciprocal
        matrix = matrices[relations[row]].T if from_head else matrices[relations[row]]
        query = matrix @ table[target]
        value += WEIGHT * query @ query
        target_gradient[i] = 2 * WEIGHT * matrix.T @ query
        gradient = 2 * WEIGHT * np.outer(query, table[target])
        matrix_gradient[relations[row]] += gradient.T if from_head else gradient
    triples = (
        tf.constant(rows, tf.int32),
        tf.constant(relations, tf.int32),
        None if reciprocal else tf.constant(asks_head),
        tf.constant(targets, tf.int32),
    )
    found = opposite_query_norms(
        RESCAL(RELATIONS, DIM),
        tf.constant(matrices.reshape([RELATIONS, -1]), tf.float32),
        lambda ids: tf.gather(tf.constant(table, tf.float32), ids),
        triples,
        tf.constant(WEIGHT),
    )
    expected = value, target_gradient, matrix_gradient.reshape([RELATIONS, -1])
    for ours, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=1e-5, atol=1e-6)
