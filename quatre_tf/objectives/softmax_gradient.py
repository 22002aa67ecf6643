"""The softmax between the matrix products of the 1-vs-all objectives, and its gradient.

In one pass where it can be: XLA makes the loops, and the shift that keeps the powers within range
is not looked for among all scores but taken from those of the targets.
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
    smoothing: float = 0.0,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Returns the weighted softmax of each row less what smoothing wants, logsumexp and mean.

    Args:
        scores: `[batch, candidates]`, float32 or narrower; minus infinity leaves one out.
        raised: Scalar, added to all scores.
        shifts: `[batch]` float32, a term of each sum: the logarithm of the largest term is better,
            any serves.
        others: `[batch]` float32, the logarithm of what the sum of a row has besides its scores;
            None for nothing.
        weights: `[batch]` float32.
        smoothing: Share of a target's probability that is spread over all candidates.

    Returns:
        `weights * (softmax - smoothing / candidates)` in the dtype of the scores; logsumexp
        `[batch]` float32; the mean score `[batch]` float32, or 0 without smoothing.
    """
    if others is None:
        others = tf.fill(tf.shape(shifts), -float("inf"))
    arguments = (scores, tf.cast(raised, tf.float32))
    found = _shifted(*arguments, shifts, others, weights, smoothing)

    def by_the_largest() -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        largest = tf.maximum(tf.cast(tf.reduce_max(scores, axis=1), tf.float32) + raised, others)
        return _shifted(*arguments, largest, others, weights, smoothing)

    # A sum e^88 times the term of the shift is too large for float32, and a little before that its
    # reciprocal times a weight too small. Looking for the largest first would be safe, and take as
    # long as all the rest. NaN is out of range, too.
    in_range = tf.reduce_all(found[1] - shifts < _LARGEST_LOGARITHM)
    return tf.cond(in_range, lambda: found, by_the_largest)


@tf.function(jit_compile=True)
def _shifted(
    scores: tf.Tensor,
    raised: tf.Tensor,
    shifts: tf.Tensor,
    others: tf.Tensor,
    weights: tf.Tensor,
    smoothing: float,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Compiled, so that scores are read and the gradient is written in their own, narrow dtype."""
    wide = tf.cast(scores, tf.float32)
    powers = tf.exp(wide + (raised - shifts)[:, tf.newaxis])
    sums = tf.reduce_sum(powers, axis=1) + tf.exp(others - shifts)
    gradient, means = powers * (weights / sums)[:, tf.newaxis], tf.zeros_like(sums)
    if smoothing:
        gradient -= (weights * smoothing / scores.shape[1])[:, tf.newaxis]
        means = tf.reduce_mean(wide, axis=1)
    return tf.cast(gradient, scores.dtype), shifts + tf.math.log(sums), means
