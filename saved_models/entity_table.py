"""The entity embeddings of a served model: how they are stored, read and scored."""

from collections.abc import Callable

import numpy as np
import tensorflow as tf

from quatre_tf.errors import DataError
from quatre_tf.ranking.ranks import candidate_scores

# A tile is as many entities as keep the processor's cache: 16 MiB of scores.
_TILE_SCORES = 2**22
_LEAST_TILE = 2048


class EntityTable(tf.Module):
    """Entity embeddings in float32.

    Args:
        table: `[num_entities, width]`, finite.

    Raises:
        DataError: The table holds NaN or infinite values.
    """

    def __init__(self, table: np.ndarray):
        super().__init__(name="entities")
        check_finite("entities", table)
        self.num_entities, self.width = table.shape
        self._table = tf.Variable(table, trainable=False, name="table", dtype=tf.float32)

    def rows(self, ids: tf.Tensor) -> tf.Tensor:
        """Returns the embeddings `[batch, width]` float32 of ids `[batch]`."""
        # Rows of the value, not of the variable: after one sparse read of a variable, TensorFlow
        # would copy the whole table for every matrix product.
        return tf.gather(self._table.read_value(), ids)

    def scores(self, queries: tf.Tensor) -> tf.Tensor:
        """Returns the scores `[batch, num_entities]` of queries `[batch, width]`.

        They are rounded as in an evaluation, see `quatre_tf.ranking.ranks.candidate_scores`.
        """
        tiles = tf.TensorArray(
            tf.float32, 0, dynamic_size=True, infer_shape=False, element_shape=[None, None]
        )
        tile = _tile_size(queries)
        for start in tf.range(0, self.num_entities, tile):
            tf.autograph.experimental.set_loop_options(parallel_iterations=1)
            scores = self._tile_scores(candidate_scores, queries, start, start + tile)
            tiles = tiles.write(tiles.size(), tf.transpose(scores))
        return tf.transpose(tiles.concat())

    def top_k(
        self,
        queries: tf.Tensor,
        k: tf.Tensor,
        admit: Callable[[tf.Tensor, tf.Tensor], tf.Tensor],
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the highest scores of queries, tile by tile in bounded memory.

        Args:
            queries: `[batch, width]`.
            k: How many, a positive scalar.
            admit: `admit(scores, start)` returns scores `[batch, tile]` of the entities from
                `start` on with minus infinity for those that are no candidates.

        Returns:
            Scores, highest first, and ids, both `[batch, min(k, num_entities)]`; of equal scores
            the lower id is first.
        """
        k = tf.minimum(k, self.num_entities)
        # Not less than k, so that merging stays cheaper than what is merged.
        tile = tf.maximum(_tile_size(queries), k)
        best = tf.zeros([tf.shape(queries)[0], 0])
        ids = tf.zeros([tf.shape(queries)[0], 0], tf.int32)
        for start in tf.range(0, self.num_entities, tile):
            tf.autograph.experimental.set_loop_options(
                parallel_iterations=1,
                shape_invariants=[
                    (best, tf.TensorShape([None, None])),
                    (ids, tf.TensorShape([None, None])),
                ],
            )
            scores = self._tile_scores(_quick_scores, queries, start, start + tile)
            found, places = _top_k(admit(scores, start), k)
            # Earlier tiles come first, and so do lower ids of equal scores.
            best, order = _top_k(tf.concat([best, found], axis=1), k)
            ids = tf.gather(tf.concat([ids, start + places], axis=1), order, batch_dims=1)
        return best, ids

    def _tile_scores(
        self, product: Callable, queries: tf.Tensor, start: tf.Tensor, limit: tf.Tensor
    ) -> tf.Tensor:
        """Returns `[batch, tile]`, for the entities from `start` to before `limit`."""
        # Leading rows of a tensor are a view on it: nothing is copied.
        return product(queries, self._table.read_value()[start:limit])


def check_finite(name: str, table: np.ndarray) -> None:
    """Raises DataError if a table has NaN or infinite values."""
    if not np.isfinite(table).all():
        raise DataError(
            f"The table of {name} holds NaN or infinite values: such a model cannot be served. "
            "Train it again with a smaller learning rate or a stronger regularisation."
        )


def _tile_size(queries: tf.Tensor) -> tf.Tensor:
    return tf.maximum(_LEAST_TILE, _TILE_SCORES // tf.maximum(tf.shape(queries)[0], 1))


def _quick_scores(queries: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
    # One query is a product of a matrix and a vector: half the time of the product that
    # `candidate_scores` pads it to. Several in this form would take three times as long.
    return tf.cond(
        tf.shape(queries)[0] == 1,
        lambda: tf.linalg.matmul(queries, rows, transpose_b=True),
        lambda: candidate_scores(queries, rows),
    )


def _top_k(scores: tf.Tensor, k: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    return tf.math.top_k(scores, tf.minimum(k, tf.shape(scores)[1]))
