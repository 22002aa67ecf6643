"""The 1-vs-all objective and its gradient: a softmax over all entities, in closed form.

A query costs its three matrix products once, however many targets it has. FB15k-237 has 3.6 triples
per distinct query: a pass over it gets that much cheaper, and is the same sum of the same terms as
with a row for each triple.

The products may be taken in bfloat16; their rounding is noise in the gradient. Tables, accumulators
and regulariser stay float32, and so does the gradient at the targets until it is rounded once: it
is a difference of almost equal numbers as soon as they are learned.

`test_candidate_softmax.py` compares all of it with automatic differentiation of the plain form.
"""

import tensorflow as tf

from quatre_tf.model import QuatRE
from quatre_tf.objectives.objective import Objective
from quatre_tf.objectives.query_objective import (
    NormWeights,
    QueryBatch,
    Ranking,
    SoftmaxOptions,
    norm_weights,
    query_objective,
    regularize_targets,
)
from quatre_tf.objectives.softmax_gradient import softmax_gradient
from quatre_tf.sparse_rows import put_in_place


def candidate_softmax_objective(
    model: QuatRE, batch: QueryBatch, options: SoftmaxOptions, *, num_targets: float | tf.Tensor
) -> Objective:
    """Returns the 1-vs-all objective on `batch` and its gradient.

    Args:
        model: The model; all its tables are trained.
        batch: The queries of this replica.
        options: Weights and precision.
        num_targets: What the sums over targets are divided by: how many targets the global batch
            has, or is expected to have. With the expected number all triples weigh the same.
    """
    scale = 1.0 / tf.cast(num_targets, tf.float32)
    table = tf.convert_to_tensor(model.entities.embeddings.value)

    def rank(queries: tf.Tensor, weights: tf.Tensor) -> Ranking:
        return _rank_all(queries, table, batch, weights, scale, options)

    return query_objective(model, batch, options, scale, lambda ids: tf.gather(table, ids), rank)


def _rank_all(
    queries: tf.Tensor,
    table: tf.Tensor,
    batch: QueryBatch,
    weights: tf.Tensor,
    scale: tf.Tensor,
    options: SoftmaxOptions,
) -> Ranking:
    """Three matrix products, and what lies between them."""
    dtype, smoothing = options.compute_dtype, options.label_smoothing
    low_queries, low_table = tf.cast(queries, dtype), tf.cast(table, dtype)
    scores = tf.linalg.matmul(low_queries, low_table, transpose_b=True)
    places = tf.stack([batch.rows, batch.targets], axis=1)
    target_scores = tf.cast(tf.gather_nd(scores, places), tf.float32)
    shifts = tf.math.segment_max(target_scores, batch.rows)
    gradient, normalizers, means = softmax_gradient(scores, 0.0, shifts, None, weights, smoothing)

    share = smoothing / tf.cast(table.shape[0], tf.float32)
    probabilities = tf.exp(target_scores - tf.gather(normalizers, batch.rows))
    at_targets = tf.gather(weights, batch.rows) * (probabilities - share)
    at_targets -= (1.0 - smoothing) * scale
    # Nothing else reads the gradient.
    gradient = put_in_place(gradient, places, tf.cast(at_targets, dtype))
    times_target = tf.math.bincount(batch.targets, minlength=table.shape[0])
    regularization, table_gradient = _with_regularizers(
        tf.linalg.matmul(gradient, low_queries, transpose_a=True),
        tf.ensure_shape(table, [None, queries.shape[-1]]),
        norm_weights(options, scale * tf.cast(times_target, tf.float32)),
    )
    return Ranking(
        loss=tf.reduce_sum(weights * (normalizers - smoothing * means))
        - (1.0 - smoothing) * scale * tf.reduce_sum(target_scores),
        regularization=regularization,
        query_gradient=tf.cast(tf.linalg.matmul(gradient, low_table), tf.float32),
        contributions=[],
        table_gradient=table_gradient,
    )


@tf.function(jit_compile=True)
def _with_regularizers(
    gradient: tf.Tensor, table: tf.Tensor, norms: NormWeights
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns what the regularisers have of the table's rows by weights, and the gradient with it.

    One pass over the table, which widens the gradient besides: adding the part of each target to
    the row it stands for would go through the rows one by one.
    """
    value, of_rows = regularize_targets(table, norms)
    return value, tf.cast(gradient, tf.float32) + of_rows
