"""Losses on scores (higher is more plausible)."""

import tensorflow as tf


def logistic_loss(scores: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """Returns the per-example loss `softplus(-label * score)` (QuatRE paper, equation 9).

    Args:
        scores: `[...]`.
        labels: `[...]`, +1 for true and -1 for corrupted triples.

    Returns:
        `[...]`, in nats. The paper sums it, the reference implementation takes the mean.
    """
    return tf.math.softplus(-tf.cast(labels, scores.dtype) * scores)


def softmax_cross_entropy(scores: tf.Tensor, targets: tf.Tensor) -> tf.Tensor:
    """Returns the per-query cross-entropy of the target among the candidates.

    Args:
        scores: `[batch, num_candidates]`.
        targets: `[batch]`, the column of the true candidate.

    Returns:
        `[batch]`, in nats.
    """
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=targets, logits=scores)
