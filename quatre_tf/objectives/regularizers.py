"""Regularizers on the embeddings of a batch."""

import tensorflow as tf


def weighted_norms(
    rows: tf.Tensor, components: int, cubed: tf.Tensor, squared: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the weighted cubed and squared moduli of rows `[k, width]`, summed, and the gradient.

    The gradient is in closed form: that of a modulus does not exist at 0, that of its cube does.

    Args:
        rows: `[k, width]`.
        components: Floats per component.
        cubed: Weights `[k]` or `[]` of cubed moduli, N3. Tensors, so that one trace serves every
            weight.
        squared: The same of squared moduli, DURA.

    References:
        - Lacroix et al., Canonical Tensor Decomposition for Knowledge Base Completion, ICML 2018
        - Zhang et al., Duality-Induced Regularizer for Tensor Factorization Based Knowledge Graph
          Completion, NeurIPS 2020
    """
    squares = squared_moduli(rows, components)[:, tf.newaxis]
    moduli = tf.sqrt(squares)
    cubed, squared = (tf.reshape(weights, [-1, 1, 1]) for weights in (cubed, squared))
    values, factors = cubed * moduli + squared, 3.0 * cubed * moduli + 2.0 * squared
    parts = tf.reshape(rows, [-1, components, rows.shape[1] // components])
    return tf.reduce_sum(values * squares), tf.reshape(factors * parts, tf.shape(rows))


def squared_moduli(rows: tf.Tensor, components: int) -> tf.Tensor:
    """Returns `[k, width / components]` of rows `[k, width]`: sums of squares of the components."""
    parts = tf.reshape(rows, [-1, components, rows.shape[1] // components])
    return tf.reduce_sum(tf.square(parts), axis=1)
