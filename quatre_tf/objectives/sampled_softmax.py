"""The softmax objective over sampled candidates: an estimate of the 1-vs-all objective.

The 1-vs-all objective (`quatre_tf.objectives.candidate_softmax`) needs the sum of exp(score) over
all entities. Here the targets of a query are in it exactly, and the rest is estimated from the
sample: each of `num_sampled` stands for `num_entities / num_sampled`, so its score is raised by the
logarithm of that (sampled softmax, Bengio and Senecal 2008). A sampled entity that is a target of
the query does not count again. The sum is estimated without bias.
"""

import tensorflow as tf

from quatre_tf.model import KGEModel
from quatre_tf.objectives.objective import Objective
from quatre_tf.objectives.query_objective import QueryBatch, SoftmaxOptions
from quatre_tf.objectives.sampled_candidates import (
    Candidates,
    ScoreGradients,
    Scores,
    sampled_objective,
)
from quatre_tf.objectives.softmax_gradient import softmax_gradient


def sampled_softmax_objective(
    model: KGEModel,
    batch: QueryBatch,
    candidates: Candidates,
    options: SoftmaxOptions,
    *,
    num_targets: float | tf.Tensor,
) -> Objective:
    """Returns an estimate of the 1-vs-all objective on `batch` and its gradient.

    Args:
        model: The model; all its tables are trained.
        batch: The queries of this replica.
        candidates: The sampled entities. With all entities the objective is exact.
        options: Weights and precision.
        num_targets: As for `candidate_softmax_objective`.
    """
    raised = tf.math.log(model.num_entities / tf.cast(tf.size(candidates.entities), tf.float32))

    def cross_entropy(scores: Scores) -> ScoreGradients:
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

    return sampled_objective(model, batch, candidates, options, num_targets, cross_entropy)


def _segment_log_sum(values: tf.Tensor, segments: tf.Tensor) -> tf.Tensor:
    """Returns logsumexp of each segment; segments ascend and none is empty."""
    largest = tf.math.segment_max(values, segments)
    return largest + tf.math.log(
        tf.math.segment_sum(tf.exp(values - tf.gather(largest, segments)), segments)
    )
