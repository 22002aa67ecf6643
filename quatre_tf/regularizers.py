"""Regularisers on the embeddings of a batch."""

from collections.abc import Sequence

import tensorflow as tf


def batch_l2(rows: Sequence[tf.Tensor]) -> tf.Tensor:
    """Returns the L2 regulariser of the reference implementation.

    It is the sum over the given row sets X of `4 * mean(X^2)`: the mean square of each quaternion
    component, summed over the four components. A row that occurs twice counts twice.

    Args:
        rows: `[num_triples, 4n]` each: raw rows of head, relation, tail and the rotations, one per
            triple of the batch (positive and corrupted).

    Returns:
        A scalar.
    """
    return tf.add_n([4.0 * tf.reduce_mean(tf.square(row)) for row in rows])


def n3(quaternions: Sequence[tf.Tensor]) -> tf.Tensor:
    """Returns the nuclear 3-norm: the sum of cubed moduli, averaged over the batch.

    Args:
        quaternions: `[batch, 4, dim]` each: usually head, folded relation and tail.

    Returns:
        A scalar.

    References:
        - Lacroix et al., Canonical Tensor Decomposition for Knowledge Base Completion, ICML 2018
    """
    moduli = [tf.sqrt(tf.reduce_sum(tf.square(q), axis=-2)) for q in quaternions]
    return tf.add_n([tf.reduce_sum(m**3) / tf.cast(tf.shape(m)[0], m.dtype) for m in moduli])
