"""Regularizers on the embeddings of a batch."""

from typing import NamedTuple

import tensorflow as tf


class NormWeights(NamedTuple):
    """Weights of the norms of rows. Tensors, so that one trace serves every weight.

    Attributes:
        cubed: `[k]` or `[]`: of cubed moduli, N3.
        squared: The same of squared moduli, DURA; None for none.

    References:
        - Lacroix et al., Canonical Tensor Decomposition for Knowledge Base Completion, ICML 2018
        - Zhang et al., Duality-Induced Regularizer for Tensor Factorization Based Knowledge Graph
          Completion, NeurIPS 2020
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
