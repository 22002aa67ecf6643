"""The softmax in one pass, with shifts that serve and shifts that do not."""

import numpy as np
import pytest
import tensorflow as tf

from quatre_tf.objectives.softmax_gradient import softmax_gradient


def expected(scores, raised, others, weights):
    """In float64, with the largest term as the shift."""
    terms = np.concatenate([scores + raised, others[:, np.newaxis]], axis=1)
    largest = terms.max(axis=1, keepdims=True)
    logarithms = largest[:, 0] + np.log(np.exp(terms - largest).sum(axis=1))
    softmax = np.exp(scores + raised - logarithms[:, np.newaxis])
    return weights[:, np.newaxis] * softmax, logarithms


@pytest.mark.parametrize("above", [0.0, 60.0, 82.0, 300.0], ids=["usual", "far", "edge", "beyond"])
@pytest.mark.parametrize("with_others", [False, True])
def test_agrees_with_float64(rng, above, with_others):
    scores = rng.normal(size=(7, 30)).astype(np.float32)
    shifts = scores[:, 3].copy()
    # Another score than that of the shift, in one row.
    scores[2, 5] += above
    # A batch holds weights of 1 or far less.
    scales = np.array([1.0, 1e-5, 1.0, 1e-5, 1e-5, 1.0, 1e-5])
    weights = scales * rng.uniform(0.5, 2.0, 7)
    others = shifts if with_others else np.full(7, -np.inf)
    found = softmax_gradient(
        tf.constant(scores),
        0.75,
        tf.constant(shifts, tf.float32),
        tf.constant(others, tf.float32) if with_others else None,
        tf.constant(weights, tf.float32),
    )
    gradient, logarithms = expected(scores.astype(np.float64), 0.75, others, weights)
    np.testing.assert_allclose(
        found[0] / scales[:, np.newaxis], gradient / scales[:, np.newaxis], rtol=3e-5, atol=1e-7
    )
    np.testing.assert_allclose(found[1], logarithms, rtol=3e-6)


def test_candidates_left_out_have_no_part():
    """A row may have none left: its sum is then what it has besides."""
    scores = tf.constant([[0.0, -np.inf], [-np.inf, -np.inf]], tf.bfloat16)
    others = tf.constant([0.0, 1.0])
    gradient, logarithms = softmax_gradient(scores, 0.0, others, others, tf.ones([2]))
    assert gradient.dtype == tf.bfloat16
    np.testing.assert_allclose(tf.cast(gradient, tf.float32), [[0.5, 0.0], [0.0, 0.0]])
    np.testing.assert_allclose(logarithms, [np.log(2.0), 1.0], rtol=1e-6)
