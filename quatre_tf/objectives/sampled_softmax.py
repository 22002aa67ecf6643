"""The softmax objective over sampled candidates: a step that does not grow with the entities.

The 1-vs-all objective (`quatre_tf.objectives.candidate_softmax`) needs the sum of exp(score) over
all entities. Here the targets of a query are in it exactly, and the rest is estimated from distinct
entities drawn uniformly, which all queries of the batch share: each of `num_sampled` stands for
`num_entities / num_sampled`, so its score is raised by the logarithm of that (sampled softmax,
Bengio and Senecal 2008). A sampled entity that is a target of the query does not count again. The
sum is estimated without bias.

Only the rows that occur are read and written.
"""

from typing import NamedTuple

import tensorflow as tf

from quatre_tf.model import QuatRE
from quatre_tf.objectives.objective import Objective
from quatre_tf.objectives.query_objective import (
    QueryBatch,
    Ranking,
    SoftmaxOptions,
    norm_weights,
    query_objective,
    regularize_targets,
)
from quatre_tf.objectives.softmax_gradient import softmax_gradient
from quatre_tf.sparse_rows import combine_rows


class Candidates(NamedTuple):
    """Entities that all queries of a batch are ranked among.

    Attributes:
        entities: `[num_sampled]` int32, distinct.
        hits: `[num_hits, 2]` int32: (query, place) of the targets that are among them.
    """

    entities: tf.Tensor
    hits: tf.Tensor


def sampled_softmax_objective(
    model: QuatRE,
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
        options: Weights and precision; `label_smoothing` has to be 0.
        num_targets: As for `candidate_softmax_objective`.

    Raises:
        ValueError: `label_smoothing` is not 0.
    """
    if options.label_smoothing:
        raise ValueError(
            "`label_smoothing` needs the scores of all entities. "
            f"Received: {options.label_smoothing}."
        )
    rows = model.entities.lookup(candidates.entities)
    raised = tf.math.log(model.num_entities / tf.cast(tf.size(candidates.entities), tf.float32))

    scale = 1.0 / tf.cast(num_targets, tf.float32)
    answers = model.entities.lookup(batch.targets)

    def rank(queries: tf.Tensor, weights: tf.Tensor) -> Ranking:
        return _rank_sampled(
            queries, answers, (rows, raised, candidates), batch, weights, scale, options
        )

    return query_objective(model, batch, options, scale, model.entities.lookup, rank)


def _rank_sampled(
    queries: tf.Tensor,
    answers: tf.Tensor,
    sampled: tuple[tf.Tensor, tf.Tensor, Candidates],
    batch: QueryBatch,
    weights: tf.Tensor,
    scale: tf.Tensor,
    options: SoftmaxOptions,
) -> Ranking:
    rows, raised, candidates = sampled
    dtype = options.compute_dtype
    asked = tf.gather(queries, batch.rows)
    target_scores = tf.reduce_sum(asked * answers, axis=1)
    low_queries, low_rows = tf.cast(queries, dtype), tf.cast(rows, dtype)
    scores = tf.linalg.matmul(low_queries, low_rows, transpose_b=True)
    nothing = tf.fill(tf.shape(candidates.hits)[:1], tf.constant(-float("inf"), dtype))
    # In place: nothing else reads the scores.
    scores = tf.tensor_scatter_nd_update(scores, candidates.hits, nothing)
    of_targets = _segment_log_sum(target_scores, batch.rows)
    gradient, normalizers, _ = softmax_gradient(scores, raised, of_targets, of_targets, weights)
    probabilities = tf.exp(target_scores - tf.gather(normalizers, batch.rows))
    at_targets = tf.gather(weights, batch.rows) * probabilities - scale
    num_targets, num_queries = tf.size(batch.targets), tf.size(batch.entities)
    at_queries = combine_rows(answers, tf.range(num_targets), at_targets, batch.rows, num_queries)
    candidate_gradient = tf.linalg.matmul(gradient, low_queries, transpose_a=True)
    regularization, answer_gradient = regularize_targets(answers, norm_weights(options, scale))
    return Ranking(
        loss=tf.reduce_sum(weights * normalizers) - scale * tf.reduce_sum(target_scores),
        regularization=regularization,
        query_gradient=tf.cast(tf.linalg.matmul(gradient, low_rows), tf.float32) + at_queries,
        contributions=[
            (candidates.entities, tf.cast(candidate_gradient, tf.float32)),
            (batch.targets, at_targets[:, tf.newaxis] * asked + answer_gradient),
        ],
        table_gradient=None,
    )


def _segment_log_sum(values: tf.Tensor, segments: tf.Tensor) -> tf.Tensor:
    """Returns logsumexp of each segment; segments ascend and none is empty."""
    largest = tf.math.segment_max(values, segments)
    return largest + tf.math.log(
        tf.math.segment_sum(tf.exp(values - tf.gather(largest, segments)), segments)
    )
