"""The softmax of the 1-vs-all objectives, and its gradient.

One pass where possible: XLA makes the loops, and the shift that keeps the powers within range is
taken from the scores of the targets, not searched for among all scores.
"""

import tensorflow as tf

# Of a sum of powers: its reciprocal is e^27 above the smallest normal float32, for weights.
_LARGEST_LOGARITHM = 60.0


def softmax_gradient(
    scores: tf.Tensor,
    raised: float | tf.Tensor,
    shifts: tf.Tensor,
    others: tf.Tensor | None,
    weights: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the weighted softmax of each row, and logsumexp.

    Args:
        scores: `[batch, candidates]`, float32 or narrower; minus infinity leaves one out.
        raised: Scalar, added to all scores.
        shifts: `[batch]` float32, a term of each sum: the logarithm of the largest term is best,
            any works.
        others: `[batch]` float32, the logarithm of what the sum of a row holds besides its scores;
            None for nothing.
        weights: `[batch]` float32.

    Returns:
        `weights * softmax` in the dtype of the scores, and logsumexp `[batch]` float32.
    """
    if others is None:
        others = tf.fill(tf.shape(shifts), -float("inf"))
    raised = tf.cast(raised, tf.float32)
    found = _shifted(scores, raised, shifts, others, weights)

    def by_the_largest() -> tuple[tf.Tensor, tf.Tensor]:
        largest = tf.maximum(tf.cast(tf.reduce_max(scores, axis=1), tf.float32) + raised, others)
        return _shifted(scores, raised, largest, others, weights)

    # A sum e^88 times the term of the shift is too large for float32, and a little before that its
    # reciprocal times a weight too small. Looking for the largest first would be safe, and take as
    # long as all the rest. NaN is out of range, too.
    in_range = tf.reduce_all(found[1] - shifts < _LARGEST_LOGARITHM)
    return tf.cond(in_range, lambda: found, by_the_largest)


@tf.function(jit_compile=True, autograph=False)
def _shifted(
    scores: tf.Tensor, raised: tf.Tensor, shifts: tf.Tensor, others: tf.Tensor, weights: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Compiled, so that scores are read and the gradient is written in their own, narrow dtype."""
    powers = tf.exp(tf.cast(scores, tf.float32) + (raised - shifts)[:, tf.newaxis])
    sums = tf.reduce_sum(powers, axis=1) + tf.exp(others - shifts)
    gradient = powers * (weights / sums)[:, tf.newaxis]
    return tf.cast(gradient, scores.dtype), shifts + tf.math.log(sums)
