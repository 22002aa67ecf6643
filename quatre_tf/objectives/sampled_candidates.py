"""Objectives over sampled candidates: a step that does not grow with the entities.

All queries of a batch share distinct entities drawn uniformly. A loss on the scores of targets and
candidates, with its gradient, makes an objective of them. Only the rows that occur are read and
written.
"""

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from quatre_tf.model import KGEModel
from quatre_tf.objectives.candidate_softmax import CandidateScores
from quatre_tf.objectives.objective import Objective
from quatre_tf.objectives.query_objective import (
    QueryBatch,
    Ranking,
    SoftmaxOptions,
    query_objective,
)
from quatre_tf.objectives.regularizers import weighted_norms
from quatre_tf.similarities import Similarity
from quatre_tf.sparse_rows import combine_rows, sum_rows


class Scores(NamedTuple):
    """The scores of a batch, and how much they weigh.

    Attributes:
        candidates: `[batch, num_sampled]`, float32 or narrower; minus infinity where a candidate is
            a target of the query.
        targets: `[num_targets]` float32.
        rows: `[num_targets]` int32, ascending: the query of each target.
        scale: Scalar, the weight of a target.
        weights: `[batch]`, `scale` times the number of targets of each query.
    """

    candidates: tf.Tensor
    targets: tf.Tensor
    rows: tf.Tensor
    scale: tf.Tensor
    weights: tf.Tensor


class ScoreGradients(NamedTuple):
    """A loss and its gradient.

    Attributes:
        loss: Scalar.
        candidates: As of `Scores`, in the dtype of its candidates.
        targets: As of `Scores`.
    """

    loss: tf.Tensor
    candidates: tf.Tensor
    targets: tf.Tensor


def sampled_objective(
    model: KGEModel,
    batch: QueryBatch,
    options: SoftmaxOptions,
    *,
    num_targets: float | tf.Tensor,
    loss: Callable[[Scores], ScoreGradients],
) -> Objective:
    """Returns the objective on `batch` that a loss on scores makes, and its gradient.

    Args:
        model: The model; all its tables are trained.
        batch: The queries of this replica, with candidates.
        options: Weights and precision.
        num_targets: As for `candidate_softmax_objective`.
        loss: The loss and its gradient. It may write into the candidates' scores.
    """
    rows = model.entities.lookup(batch.candidates)
    scale = 1.0 / tf.cast(num_targets, tf.float32)
    answers = model.entities.lookup(batch.targets)
    function = model.score_function

    def rank(queries: tf.Tensor, weights: tf.Tensor) -> Ranking:
        target_queries = tf.gather(queries, batch.rows)
        target_scores = tf.cast(function.similarity.pairs(target_queries, answers), tf.float32)
        scored = CandidateScores(function.similarity, queries, rows, options.compute_dtype)
        left_out = tf.constant(-float("inf"), scored.scores.dtype)
        # In place: nothing else reads the scores.
        scores = tf.tensor_scatter_nd_update(
            scored.scores, batch.hits, tf.fill(tf.shape(batch.hits)[:1], left_out)
        )
        found = loss(Scores(scores, target_scores, batch.rows, scale, weights))
        at_queries, at_answers = _target_gradients(
            function.similarity, (queries, target_queries, answers), found.targets, batch
        )
        query_gradient, candidate_gradient = scored.gradients(found.candidates)
        regularization, answer_gradient = weighted_norms(
            answers, function.entity_components, options.n3 * scale, options.dura * scale
        )
        return Ranking(
            loss=found.loss,
            regularization=regularization,
            query_gradient=tf.cast(query_gradient, tf.float32) + at_queries,
            contributions=[
                (batch.candidates, tf.cast(candidate_gradient, tf.float32)),
                (batch.targets, at_answers + answer_gradient),
            ],
            table_gradient=None,
        )

    return query_objective(model, batch, options, scale, model.entities.lookup, rank)


def _target_gradients(
    similarity: Similarity,
    rows: tuple[tf.Tensor, tf.Tensor, tf.Tensor],
    upstream: tf.Tensor,
    batch: QueryBatch,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the gradients of queries `[batch, width]` and answers `[num_targets, width]`.

    Args:
        similarity: Compares them.
        rows: The queries `[batch, width]`; the query and the row of each target
            `[num_targets, width]`.
        upstream: `[num_targets]`, the gradient of the scores of the targets.
        batch: The queries.
    """
    queries, target_queries, answers = rows
    num_queries = tf.shape(queries)[0]
    if similarity.linear:
        places = tf.range(tf.size(batch.targets))
        at_queries = combine_rows(answers, places, upstream, batch.rows, num_queries)
        return at_queries, upstream[:, tf.newaxis] * target_queries
    with tf.GradientTape() as tape:
        tape.watch([target_queries, answers])
        scores = tf.cast(similarity.pairs(target_queries, answers), upstream.dtype)
    at_queries, at_answers = tape.gradient(
        scores, [target_queries, answers], output_gradients=upstream
    )
    return sum_rows(at_queries, batch.rows, num_queries), at_answers
