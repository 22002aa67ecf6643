"""The 1-vs-all objective and its gradient: a softmax over all entities.

A query is scored once, however many targets it has. FB15k-237 has 3.6 triples per distinct query: a
pass over it gets that much cheaper, and is the same sum of the same terms as with a row for each
triple.

Dot-product scores are three matrix products with the gradient in closed form. The products may be
taken in bfloat16; their rounding is noise in the gradient. Tables, accumulators and regularizers
stay float32, and so does the gradient at the targets until it is rounded once: it is a difference
of almost equal numbers as soon as they are learned.

`test_candidate_softmax.py` compares all of it with the plain form in NumPy.
"""

import tensorflow as tf

from quatre_tf.model import KGEModel
from quatre_tf.objectives.objective import Objective
from quatre_tf.objectives.query_objective import (
    QueryBatch,
    Ranking,
    SoftmaxOptions,
    query_objective,
)
from quatre_tf.objectives.regularizers import weighted_norms
from quatre_tf.objectives.softmax_gradient import softmax_gradient
from quatre_tf.similarities import Similarity
from quatre_tf.sparse_rows import equal_ends, map_parts, put_in_place

# Bytes of a page: caches find their lines by the place within one.
_PAGE = 4096


def candidate_softmax_objective(
    model: KGEModel, batch: QueryBatch, options: SoftmaxOptions, *, num_targets: float | tf.Tensor
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
    function = model.score_function

    def rank(queries: tf.Tensor, weights: tf.Tensor) -> Ranking:
        scored = CandidateScores(function.similarity, queries, table, options.compute_dtype)
        places = tf.stack([batch.rows, batch.targets], axis=1)
        target_scores = tf.cast(tf.gather_nd(scored.scores, places), tf.float32)
        shifts = tf.math.segment_max(target_scores, batch.rows)
        gradient, normalizers = softmax_gradient(scored.scores, 0.0, shifts, None, weights)
        probabilities = tf.exp(target_scores - tf.gather(normalizers, batch.rows))
        at_targets = tf.gather(weights, batch.rows) * probabilities - scale
        # Nothing else reads the gradient.
        gradient = put_in_place(gradient, places, tf.cast(at_targets, gradient.dtype))
        query_gradient, table_gradient = scored.gradients(gradient)
        times_target = tf.math.bincount(batch.targets, minlength=table.shape[0])
        table_weights = scale * tf.cast(times_target, tf.float32)
        regularization, table_gradient = _with_regularizers(
            table_gradient,
            tf.ensure_shape(table, [None, function.entity_width]),
            function.entity_components,
            options.n3 * table_weights,
            options.dura * table_weights,
        )
        return Ranking(
            loss=tf.reduce_sum(weights * normalizers) - scale * tf.reduce_sum(target_scores),
            regularization=regularization,
            query_gradient=tf.cast(query_gradient, tf.float32),
            contributions=[],
            table_gradient=table_gradient,
        )

    return query_objective(model, batch, options, scale, lambda ids: tf.gather(table, ids), rank)


class CandidateScores:
    """Scores `[batch, candidates]` of queries and entity rows, and their gradients.

    Args:
        similarity: Compares them.
        queries: `[batch, width]` float32.
        rows: `[candidates, width]` float32.
        compute_dtype: Of the matrix products of a linear similarity; the scores have it, too.

    Attributes:
        scores: `[batch, candidates]`.
    """

    def __init__(
        self,
        similarity: Similarity,
        queries: tf.Tensor,
        rows: tf.Tensor,
        compute_dtype: tf.DType,
    ):
        self._similarity = similarity
        if similarity.linear:
            queries, rows = tf.cast(queries, compute_dtype), tf.cast(rows, compute_dtype)
            self.scores = _dot_products(queries, rows)
        else:
            self._tile = similarity.tile(rows, queries)
            self.scores = tf.cast(tf.transpose(self._tile), queries.dtype)
        self._queries, self._rows = queries, rows

    def gradients(self, upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the gradients of queries and rows, in the dtype of the scores.

        Args:
            upstream: `[batch, candidates]`, the gradient of the scores.
        """
        if self._similarity.linear:
            return (
                tf.linalg.matmul(upstream, self._rows),
                tf.linalg.matmul(upstream, self._queries, transpose_a=True),
            )
        upstream = tf.transpose(upstream)

        def add_tile(tile: slice, query_gradient: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            of_rows, of_queries = self._similarity.tile_gradients(
                self._rows[tile], self._queries, self._tile[tile], upstream[tile]
            )
            return of_rows, query_gradient + tf.ensure_shape(of_queries, query_gradient.shape)

        ends = equal_ends(tf.shape(self._rows)[0], self._similarity.gradient_rows)
        zeros = tf.zeros_like(self._queries)
        of_rows, query_gradient = map_parts(add_tile, ends, self._rows.dtype, zeros)
        return query_gradient, of_rows


def _dot_products(queries: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
    """Returns `[batch, candidates]`.

    Scores of the same candidate that are whole pages apart share a few lines of the cache, and
    writing them takes twice as long. They are then written the other way round.
    """
    if (rows.shape[0] or 1) * rows.dtype.size % _PAGE:
        return tf.linalg.matmul(queries, rows, transpose_b=True)
    return tf.transpose(tf.linalg.matmul(rows, queries, transpose_b=True))


@tf.function(jit_compile=True, autograph=False)
def _with_regularizers(
    gradient: tf.Tensor, table: tf.Tensor, components: int, cubed: tf.Tensor, squared: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the regularizers of the table's rows by weights, and the gradient with theirs.

    One pass over the table, which also widens the gradient: adding the part of each target to its
    row would go through the rows one by one.
    """
    value, of_rows = weighted_norms(table, components, cubed, squared)
    return value, tf.cast(gradient, tf.float32) + of_rows
