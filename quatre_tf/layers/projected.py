"""Distances between a query and entities that a matrix of the relation projects."""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from quatre_tf.layers.score_function import ScoreFunction
from quatre_tf.similarities import EUCLIDEAN, MANHATTAN, Similarity, products
from quatre_tf.sparse_rows import map_parts
from quatre_tf.validation import check_choice

# Relations are numbered in this unit: a regularizer of folded relations does not notice it.
_UNIT = 1e-30
# Queries of a relation are filled up to one of these numbers: each is compiled.
_GROUP_SIZES = [1 << i for i in range(4, 31)]


class Projected(Similarity):
    """Compares queries with projected rows; a tile is projected once for each relation.

    A query is `[point | matrix | number]`: queries with the same number have the same matrix, and
    those with the number 0, which fill up a batch, may have any.

    Args:
        distance: Compares points with projected rows.
        entity_dim: Floats per entity.
        point_dim: Floats per projected entity.
    """

    # The scores of all rows are in memory anyway, and a pass projects them for every relation.
    gradient_rows = 1 << 14

    def __init__(self, distance: Similarity, entity_dim: int, point_dim: int):
        self._distance, self._matrix_shape = distance, (entity_dim, point_dim)

    def pairs(self, queries: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
        """Returns the scores `[...]` of queries `[..., width]` and rows `[..., entity_dim]`."""
        points, matrices = self._split(queries)
        projected = tf.linalg.matvec(matrices, rows, transpose_a=True)
        return self._distance.pairs(points, projected)

    def pairs_of_sides(self, queries: tf.Tensor, rows: tf.Tensor, second: tf.Tensor) -> tf.Tensor:
        """Returns the scores of both queries where they are wanted; no matrix is repeated."""
        points, matrices = self._split(queries)
        scores = [
            self._distance.pairs(
                points[:, side, tf.newaxis], tf.linalg.matmul(rows, matrices[:, side])
            )
            for side in (0, 1)
        ]
        return tf.where(second, scores[1], scores[0])

    def tile(self, rows: tf.Tensor, queries: tf.Tensor) -> tf.Tensor:
        """Returns the scores of all pairs, relation by relation."""
        return self._tile(self._distance.tile, rows, queries)

    def portable_tile(self, rows: tf.Tensor, queries: tf.Tensor) -> tf.Tensor:
        """Returns `tile` by standard operations."""
        return self._tile(self._distance.portable_tile, rows, queries)

    def tile_gradients(
        self, rows: tf.Tensor, queries: tf.Tensor, scores: tf.Tensor, upstream: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the gradients; that of a matrix is with the first query of its relation."""
        scores, upstream = tf.transpose(scores), tf.transpose(upstream)

        def of_group(
            members: tf.Tensor, points: tf.Tensor, matrix: tf.Tensor, row_gradient: tf.Tensor
        ) -> tuple[tf.Tensor, tf.Tensor]:
            count = tf.size(members)
            padding = [[0, tf.shape(points)[0] - count], [0, 0]]
            own, of_own = (
                tf.transpose(tf.pad(tf.gather(some, members), padding))
                for some in (scores, upstream)
            )
            of_projected, of_points = self._distance.tile_gradients(
                tf.linalg.matmul(rows, matrix), points, own, of_own
            )
            of_matrix = tf.linalg.matmul(rows, of_projected, transpose_a=True)
            # The number has no gradient.
            first = tf.pad(tf.reshape(of_matrix, [1, -1]), [[0, count - 1], [0, 1]])
            of_rows = tf.linalg.matmul(of_projected, matrix, transpose_b=True)
            row_gradient += tf.ensure_shape(of_rows, row_gradient.shape)
            return tf.concat([of_points[:count], first], axis=1), row_gradient

        of_queries, of_rows = self._map_groups(of_group, queries, tf.zeros_like(rows))
        return of_rows, tf.ensure_shape(of_queries, queries.shape)

    def _tile(
        self, score: Callable[..., tf.Tensor], rows: tf.Tensor, queries: tf.Tensor
    ) -> tf.Tensor:
        def of_group(members: tf.Tensor, points: tf.Tensor, matrix: tf.Tensor) -> tuple[tf.Tensor]:
            # Not a plain product: equal rows would be rounded otherwise at the end of a tile.
            scores = score(products(rows, tf.transpose(matrix)), points)
            return (tf.transpose(scores[:, : tf.size(members)]),)

        (scores,) = self._map_groups(of_group, queries)
        return tf.transpose(scores)

    def _map_groups(
        self,
        function: Callable[..., tuple[tf.Tensor, ...]],
        queries: tf.Tensor,
        *state: tf.Tensor,
    ) -> tuple[tf.Tensor, ...]:
        """Returns the results for each query `[batch, any]` and the state after all relations.

        Args:
            function: Is given the places `[k]` of the queries of a relation, their points
                `[at least k, point_dim]`, the matrix and the state. Returns `[k, any]` and the next
                state.
            queries: `[batch, width]`.
            *state: Before the first relation.
        """
        points, matrices = self._split(queries)
        numbers = queries[:, -1]
        _, groups = tf.unique(tf.where(numbers == 0.0, numbers[:1], numbers))
        order = tf.argsort(groups, stable=True)
        ends, sizes = tf.cumsum(tf.math.bincount(groups)), tf.constant(_GROUP_SIZES)

        def of_part(part: slice, *state: tf.Tensor) -> tuple[tf.Tensor, ...]:
            members = order[part]
            count = tf.size(members)
            size = tf.reduce_min(tf.where(sizes >= count, sizes, sizes[-1]))
            some = tf.pad(tf.gather(points, members), [[0, size - count], [0, 0]])
            return function(members, some, matrices[members[0]], *state)

        found, *rest = map_parts(of_part, ends, queries.dtype, *state)
        return tf.gather(found, tf.math.invert_permutation(order)), *rest

    def _split(self, queries: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns points `[..., point_dim]` and matrices `[..., entity_dim, point_dim]`."""
        point_dim = self._matrix_shape[1]
        shape = tf.concat([tf.shape(queries)[:-1], self._matrix_shape], axis=0)
        matrices = tf.reshape(queries[..., point_dim:-1], shape)
        return queries[..., :point_dim], tf.ensure_shape(
            matrices, [*queries.shape[:-1], *self._matrix_shape]
        )


class ProjectedScore(ScoreFunction):
    """A distance between head and tail after projections; the table `relation` translates.

    Matrices start as the identity, so that training begins with TransE.

    Args:
        num_relations: See `ScoreFunction`.
        embedding_dim: See `ScoreFunction`.
        relation_dim: Floats per projected entity.
        norm: 1 or 2.
    """

    def __init__(
        self, num_relations: int, embedding_dim: int, relation_dim: int, norm: int, **kwargs: Any
    ):
        super().__init__(num_relations, embedding_dim, **kwargs)
        distances = {1: MANHATTAN, 2: EUCLIDEAN}
        distance = distances[check_choice("norm", norm, tuple(distances))]
        self.similarity = Projected(distance, embedding_dim, relation_dim)
        self._matrix_shape = (embedding_dim, relation_dim)

    def table_initializer(self, name: str) -> Any:
        """Returns the identity for matrices."""
        if name == "relation":
            return super().table_initializer(name)

        def identities(shape: Sequence[int], dtype: Any = None) -> tf.Tensor:
            matrix = tf.eye(*self._matrix_shape, dtype=dtype)
            return tf.tile(tf.reshape(matrix, [1, -1]), [shape[0], 1])

        return identities

    def fold(self, rows: Sequence[tf.Tensor]) -> tf.Tensor:
        """Returns the rows of all tables side by side, then a number for each relation."""
        numbers = _UNIT * tf.range(1, tf.shape(rows[0])[0] + 1, dtype=rows[0].dtype)
        return tf.concat([*rows, numbers[:, tf.newaxis]], axis=-1)
