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

from quatre_tf.model import KGEModel
from quatre_tf.objectives.candidate_softmax import CandidateScores
from quatre_tf.objectives.objective import Objective
from quatre_tf.objectives.query_objective import (
    QueryBatch,
    Ranking,
    SoftmaxOptions,
    norm_weights,
    query_objective,
)
from quatre_tf.objectives.regularizers import weighted_norms
from quatre_tf.objectives.softmax_gradient import softmax_gradient
from quatre_tf.similarities import Similarity
from quatre_tf.sparse_rows import combine_rows, sum_rows


class Candidates(NamedTuple):
    """Entities that all queries of a batch are ranked among.

    Attributes:
        entities: `[num_sampled]` int32, distinct.
        hits: `[num_hits, 2]` int32: (query, place) of the targets that are among them.
    """

    entities: tf.Tensor
    hits: tf.Tensor


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
    rows = model.entities.lookup(candidates.entities)
    raised = tf.math.log(model.num_entities / tf.cast(tf.size(candidates.entities), tf.float32))
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
            scored.scores, candidates.hits, tf.fill(tf.shape(candidates.hits)[:1], left_out)
        )
        of_targets = _segment_log_sum(target_scores, batch.rows)
        gradient, normalizers = softmax_gradient(scores, raised, of_targets, of_targets, weights)
        probabilities = tf.exp(target_scores - tf.gather(normalizers, batch.rows))
        at_targets = tf.gather(weights, batch.rows) * probabilities - scale
        at_queries, at_answers = _target_gradients(
            function.similarity, (queries, target_queries, answers), at_targets, batch
        )
        query_gradient, candidate_gradient = scored.gradients(gradient)
        regularization, answer_gradient = weighted_norms(
            answers, function.entity_components, norm_weights(options, scale)
        )
        return Ranking(
            loss=tf.reduce_sum(weights * normalizers) - scale * tf.reduce_sum(target_scores),
            regularization=regularization,
            query_gradient=tf.cast(query_gradient, tf.float32) + at_queries,
            contributions=[
                (candidates.entities, tf.cast(candidate_gradient, tf.float32)),
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


def _segment_log_sum(values: tf.Tensor, segments: tf.Tensor) -> tf.Tensor:
    """Returns logsumexp of each segment; segments ascend and none is empty."""
    largest = tf.math.segment_max(values, segments)
    return largest + tf.math.log(
        tf.math.segment_sum(tf.exp(values - tf.gather(largest, segments)), segments)
    )
