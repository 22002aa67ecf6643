"""RotatE's self-adversarial loss over sampled candidates.

For each target with score s, and the scores n of the candidates that are no targets of its query:

    softplus(-(margin + s)) + sum over candidates of p softplus(margin + n)

p is the softmax of `temperature * n`: hard negatives weigh more. It is a constant for the gradient.
With minus the distance as the score, this is equation 6 of Sun et al. (ICLR 2019), whose negatives
are drawn for each triple; here the queries of a batch share them.
"""

import tensorflow as tf

from quatre_tf.objectives.sampled_candidates import ScoreGradients, Scores


def self_adversarial(scores: Scores, margin: float, temperature: float) -> ScoreGradients:
    """Returns the self-adversarial loss and its gradient.

    Args:
        scores: The scores of targets and candidates, the negatives of every query.
        margin: gamma: scores above its negative count as true.
        temperature: alpha, above 0: how much hard negatives weigh more than others.

    References:
        - Sun et al., RotatE: Knowledge Graph Embedding by Relational Rotation in Complex Space,
          ICLR 2019
    """
    raised = -(margin + scores.targets)
    loss, gradient = _negatives(
        scores.candidates, scores.weights, tf.constant(margin), tf.constant(temperature)
    )
    return ScoreGradients(
        loss=scores.scale * tf.reduce_sum(tf.math.softplus(raised)) + loss,
        candidates=gradient,
        targets=-scores.scale * tf.sigmoid(raised),
    )


@tf.function(jit_compile=True, autograph=False)
def _negatives(
    scores: tf.Tensor, weights: tf.Tensor, margin: tf.Tensor, temperature: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the loss of the candidates, and its gradient in the dtype of the scores."""
    wide = tf.cast(scores, tf.float32)
    # Finite even where all candidates are targets.
    largest = tf.maximum(tf.reduce_max(wide, axis=1, keepdims=True), tf.float32.min)
    powers = tf.exp(temperature * (wide - largest))
    sums = tf.reduce_sum(powers, axis=1, keepdims=True)
    shares = weights[:, tf.newaxis] * tf.math.divide_no_nan(powers, sums)
    raised = margin + wide
    gradient = shares * tf.sigmoid(raised)
    return tf.reduce_sum(shares * tf.math.softplus(raised)), tf.cast(gradient, scores.dtype)
