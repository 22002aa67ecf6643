"""The softmax objective over sampled candidates: an estimate of the 1-vs-all objective.

The 1-vs-all objective (`quatre_tf.objectives.candidate_softmax`) needs the sum of exp(score) over
all entities. Here the targets of a query are in it exactly, and the rest is estimated from the
sample: each of `num_sampled` stands for `num_entities / num_sampled`, so its score is raised by the
logarithm of that (sampled softmax, Bengio and Senecal 2008). A sampled entity that is a target of
the query does not count again. The sum is estimated without bias.
"""

import tensorflow as tf

from quatre_tf.objectives.sampled_candidates import ScoreGradients, Scores
from quatre_tf.objectives.softmax_gradient import softmax_gradient


def cross_entropy(scores: Scores, num_entities: int) -> ScoreGradients:
    """Returns an estimate of the 1-vs-all loss and its gradient; with all entities it is exact.

    Args:
        scores: The scores of targets and candidates.
        num_entities: How many entities the candidates are a sample of.
    """
    raised = tf.math.log(num_entities / tf.cast(tf.shape(scores.candidates)[1], tf.float32))
    of_targets = _segment_log_sum(scores.targets, scores.rows)
    gradient, normalizers = softmax_gradient(
        scores.candidates, raised, of_targets, of_targets, scores.weights
    )
    probabilities = tf.exp(scores.targets - tf.gather(normalizers, scores.rows))
    loss = tf.reduce_sum(scores.weights * normalizers)
    return ScoreGradients(
        loss=loss - scores.scale * tf.reduce_sum(scores.targets),
        candidates=gradient,
        targets=tf.gather(scores.weights, scores.rows) * probabilities - scores.scale,
    )


def _segment_log_sum(values: tf.Tensor, segments: tf.Tensor) -> tf.Tensor:
    """Returns logsumexp of each segment; segments ascend and none is empty."""
    largest = tf.math.segment_max(values, segments)
    return largest + tf.math.log(
        tf.math.segment_sum(tf.exp(values - tf.gather(largest, segments)), segments)
    )
