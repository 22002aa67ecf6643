"""Scores that do not separate into query and entity rows: the whole formula runs for each pair."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import tensorflow as tf

from quatre_tf.layers.score_function import ScoreFunction, Weights
from quatre_tf.similarities import Similarity
from quatre_tf.sparse_rows import equal_ends, map_parts

# Rows scored at once, and about the floats that are then held for each step of a formula: 16 MiB.
_ROWS = 1024
_FLOATS = 1 << 22


class Pointwise(Similarity):
    """Scores pairs by a formula, in blocks of bounded size.

    A query is `[given entity row | folded relation | dense tables | side]`; side is 0 where tails
    are wanted and 1 where heads are.

    Args:
        formula: `PointwiseScore.scores`.
        entity_width: Floats per entity.
        dtype: The dtype that scores are computed in, whatever the dtype of the rows.
    """

    def __init__(
        self,
        formula: Callable[[tf.Tensor, tf.Tensor, tf.Tensor], tf.Tensor],
        entity_width: int,
        dtype: tf.DType = tf.float32,
    ):
        self._formula, self._width, self.dtype = formula, entity_width, dtype

    def pairs(self, queries: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
        """Returns the scores `[...]` of queries and rows with equal leading axes."""
        flat_queries = tf.reshape(queries, [-1, queries.shape[-1]])
        flat_rows = tf.reshape(rows, [-1, 1, rows.shape[-1]])
        return tf.reshape(self._scores(flat_queries, flat_rows), tf.shape(rows)[:-1])

    def pairs_of_sides(self, queries: tf.Tensor, rows: tf.Tensor, second: tf.Tensor) -> tf.Tensor:
        """Returns the scores; the queries are for the tails and the heads of one relation."""
        queries, rows = tf.cast(queries, self.dtype), tf.cast(rows, self.dtype)
        given, is_head = queries[..., : self._width], second[..., tf.newaxis]
        return self._formula(
            tf.where(is_head, rows, given[:, :1]),
            queries[:, 0, self._width : -1],
            tf.where(is_head, given[:, 1:], rows),
        )

    def tile(self, rows: tf.Tensor, queries: tf.Tensor) -> tf.Tensor:
        """Returns the scores of all pairs, block by block."""

        def of_rows(part: slice) -> tuple[tf.Tensor]:
            block = rows[part]
            (found,) = map_parts(
                lambda some: (self._scores(queries[some], block[tf.newaxis]),),
                _ends_of_queries(block, queries),
                self.dtype,
            )
            return (tf.transpose(found),)

        return map_parts(of_rows, equal_ends(tf.shape(rows)[0], _ROWS), self.dtype)[0]

    def tile_gradients(
        self, rows: tf.Tensor, queries: tf.Tensor, scores: tf.Tensor, upstream: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the gradients by automatic differentiation, some queries at a time."""
        del scores
        upstream = tf.cast(tf.transpose(upstream), self.dtype)

        def add(part: slice, row_gradient: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            some = queries[part]
            with tf.GradientTape() as tape:
                tape.watch([rows, some])
                scores = self._scores(some, rows[tf.newaxis])
            of_rows, of_queries = tape.gradient(
                scores, [rows, some], output_gradients=upstream[part]
            )
            return of_queries, row_gradient + of_rows

        ends = _ends_of_queries(rows, queries)
        width, zeros = queries.shape[-1], tf.zeros_like(rows)
        of_queries, of_rows = map_parts(add, ends, queries.dtype, zeros, width=width)
        return of_rows, tf.ensure_shape(of_queries, queries.shape)

    def _scores(self, queries: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
        """Returns `[b, m]` of queries `[b, width]` and rows `[b, m, width]` or `[1, m, width]`."""
        queries, rows = tf.cast(queries, self.dtype), tf.cast(rows, self.dtype)
        given = queries[:, tf.newaxis, : self._width]
        folded, is_head = queries[:, self._width : -1], queries[:, tf.newaxis, -1:] > 0.5
        # The formula occurs once in the graph: a case for each side takes far longer to compile.
        return self._formula(tf.where(is_head, rows, given), folded, tf.where(is_head, given, rows))


def _ends_of_queries(rows: tf.Tensor, queries: tf.Tensor) -> tf.Tensor:
    """Returns where each part of the queries ends that is scored with the rows at once."""
    # A query is as wide as what a formula makes of a pair, or wider.
    size = tf.maximum(_FLOATS // (tf.maximum(tf.shape(rows)[0], 1) * queries.shape[-1]), 1)
    return equal_ends(tf.shape(queries)[0], size)


class PointwiseScore(ScoreFunction):
    """A score function given by its formula alone: a subclass defines `scores`.

    Ranking costs the whole formula for every pair, so it is slower than with queries that a product
    or a distance compares with rows.

    Attributes:
        score_dtype: The dtype that scores are computed in.
    """

    score_dtype: ClassVar[tf.DType] = tf.float32

    def __init__(self, num_relations: int, embedding_dim: int, **kwargs: Any):
        super().__init__(num_relations, embedding_dim, **kwargs)
        self.similarity = Pointwise(self.scores, self.entity_width, self.score_dtype)

    def scores(self, heads: tf.Tensor, folded: tf.Tensor, tails: tf.Tensor) -> tf.Tensor:
        """Returns the scores `[batch, k]`.

        Args:
            heads: Entity rows `[batch, k, entity_width]`.
            folded: `[batch, width]` of `fold`, then the dense tables; `unfold` takes it apart.
            tails: Entity rows `[batch, k, entity_width]`.
        """
        raise NotImplementedError

    def fold(self, rows: Sequence[tf.Tensor]) -> tf.Tensor:
        """Returns the rows of all tables side by side."""
        return tf.concat(rows, axis=-1)

    def encode(
        self, queries: tf.Tensor, weights: Weights, seed: tf.Tensor | None = None
    ) -> tuple[tf.Tensor, Weights]:
        """Returns `[given entity row | folded relation | dense tables | side]`."""
        del seed
        if not weights:
            return queries, {}
        flat = tf.concat([tf.reshape(weights[name], [-1]) for name in self.dense_tables()], axis=0)
        shared = flat + tf.zeros_like(queries[..., :1])
        return tf.concat([queries[..., :-1], shared, queries[..., -1:]], axis=-1), {}

    def tail_queries(self, heads: tf.Tensor, folded: tf.Tensor) -> tf.Tensor:
        """Returns `[h | folded relation | 0]`."""
        return tf.concat([heads, folded, tf.zeros_like(heads[:, :1])], axis=-1)

    def head_queries(self, tails: tf.Tensor, folded: tf.Tensor) -> tf.Tensor:
        """Returns `[t | folded relation | 1]`."""
        return enumerating_queries(tails, folded)


class EnumeratedHeads(Pointwise):
    """Scores entities as heads: each makes a query, which is compared with the given tail.

    This costs a query for every pair, in blocks of bounded size; a model with reciprocal relations
    needs one for each question. `enumerating_queries` makes the queries.

    Args:
        function: The score function; only its pure functions are used.
        weights: Returns the `shared_weights`.
    """

    def __init__(self, function: ScoreFunction, weights: Callable[[], Weights]):
        tail_queries, encode, similarity = (
            function.tail_queries,
            function.encode,
            function.similarity,
        )

        def scores(heads: tf.Tensor, folded: tf.Tensor, tails: tf.Tensor) -> tf.Tensor:
            shape = tf.shape(heads)[:2]
            flat_heads, flat_tails = (tf.reshape(r, [-1, r.shape[-1]]) for r in (heads, tails))
            queries = tail_queries(flat_heads, tf.repeat(folded, shape[1], axis=0))
            encoded, _ = encode(queries, weights())
            return tf.reshape(similarity.pairs(encoded, flat_tails), shape)

        super().__init__(scores, function.entity_width, similarity.dtype)


def enumerating_queries(tails: tf.Tensor, folded: tf.Tensor) -> tf.Tensor:
    """Returns `[t | folded relation | 1]`, queries `[batch, width]` of `EnumeratedHeads`."""
    return tf.concat([tails, folded, tf.ones_like(tails[:, :1])], axis=-1)
