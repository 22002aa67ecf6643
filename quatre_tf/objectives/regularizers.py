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


def dura(quaternions: Sequence[tf.Tensor]) -> tf.Tensor:
    """Returns the duality-induced regulariser: the sum of squared moduli, averaged over the batch.

    A bilinear score is what the squared distance of query and answer has besides their norms: large
    scores with small norms mean a small distance.

    Args:
        quaternions: `[batch, 4, dim]` each: usually given entity, its query (the entity by the
            folded relation) and answer, for both directions of a triple.

    Returns:
        A scalar.

    References:
        - Zhang et al., Duality-Induced Regularizer for Tensor Factorization Based Knowledge Graph
          Completion, NeurIPS 2020
    """
    return tf.add_n([tf.reduce_sum(q**2) / tf.cast(tf.shape(q)[0], q.dtype) for q in quaternions])
