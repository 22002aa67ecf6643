"""Regularizers on the embeddings of a batch."""

from collections.abc import Sequence
from typing import NamedTuple

import tensorflow as tf


def batch_l2(rows: Sequence[tf.Tensor], components: int = 4) -> tf.Tensor:
    """Returns the L2 regularizer of the reference implementation.

    It is the sum over the given row sets X of `components * mean(X^2)`: the mean square of each
    component (of a quaternion, say), summed over the components. A row that occurs twice counts
    twice.

    Args:
        rows: `[num_triples, width]` each: raw rows of head, relation, tail and the rotations, one
            for each triple of the batch (positive and corrupted).
        components: Floats per component.

    Returns:
        A scalar.
    """
    return tf.add_n([components * tf.reduce_mean(tf.square(row)) for row in rows])


def n3(rows: Sequence[tf.Tensor], components: int = 4) -> tf.Tensor:
    """Returns the nuclear 3-norm: the sum of cubed moduli, averaged over the batch.

    Args:
        rows: `[batch, width]` each: usually head, folded relation and tail.
        components: Floats per modulus: 4 for quaternions.

    Returns:
        A scalar.

    References:
        - Lacroix et al., Canonical Tensor Decomposition for Knowledge Base Completion, ICML 2018
    """
    moduli = [tf.sqrt(squared_moduli(row, components)) for row in rows]
    return tf.add_n([tf.reduce_sum(m**3) / tf.cast(tf.shape(m)[0], m.dtype) for m in moduli])


def dura(rows: Sequence[tf.Tensor]) -> tf.Tensor:
    """Returns the duality-induced regularizer: the sum of squares, averaged over the batch.

    A bilinear score is half of what the squared norms of query and answer exceed their squared
    distance by: large scores with small norms mean a small distance.

    Args:
        rows: `[batch, width]` each: usually given entity, query and answer, for both directions of
            a triple.

    Returns:
        A scalar.

    References:
        - Zhang et al., Duality-Induced Regularizer for Tensor Factorization Based Knowledge Graph
          Completion, NeurIPS 2020
    """
    return tf.add_n([tf.reduce_sum(row**2) / tf.cast(tf.shape(row)[0], row.dtype) for row in rows])


class NormWeights(NamedTuple):
    """Weights of the norms of rows. Tensors, so that one trace serves every weight.

    Attributes:
        cubed: `[k]` or `[]`: of cubed moduli, N3.
        squared: The same of squared moduli, DURA; None for none.
    """

    cubed: tf.Tensor
    squared: tf.Tensor | None


def weighted_norms(
    rows: tf.Tensor, components: int, weights: NormWeights
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the weighted cubed and squared moduli of rows `[k, width]`, summed, and the gradient.

    The gradient is in closed form: that of a modulus does not exist at 0, that of its cube does.
    """
    squares = squared_moduli(rows, components)[:, tf.newaxis]
    moduli = tf.sqrt(squares)
    cubed = tf.reshape(weights.cubed, [-1, 1, 1])
    values, factors = cubed * moduli, 3.0 * cubed * moduli
    if weights.squared is not None:
        squared = tf.reshape(weights.squared, [-1, 1, 1])
        values, factors = values + squared, factors + 2.0 * squared
    parts = tf.reshape(rows, [-1, components, rows.shape[1] // components])
    return tf.reduce_sum(values * squares), tf.reshape(factors * parts, tf.shape(rows))


def squared_moduli(rows: tf.Tensor, components: int) -> tf.Tensor:
    """Returns `[k, width / components]` of rows `[k, width]`: sums of squares of the components."""
    parts = tf.reshape(rows, [-1, components, rows.shape[1] // components])
    return tf.reduce_sum(tf.square(parts), axis=1)
