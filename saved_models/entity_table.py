"""The entity embeddings of a served model: how they are stored, read and scored."""

from collections.abc import Callable

import numpy as np
import tensorflow as tf

from quatre_tf.errors import DataError
from quatre_tf.ranking.ranks import candidate_scores
from quatre_tf.validation import check_choice

PRECISIONS = ("float32", "bfloat16", "int8")

# A tile is as many entities as keep the processor's cache: 16 MiB of scores, 8 MiB of decoded rows.
_TILE_SCORES = 2**22
_TILE_FLOATS = 2**21
_LEAST_TILE = 2048


class EntityTable(tf.Module):
    """Entity embeddings in one of `PRECISIONS`; all arithmetic is in float32.

    `"bfloat16"` rounds each number to 8 significant bits. `"int8"` stores a row as whole numbers
    from -127 to 127 and a float32 scale: the row's largest absolute value / 127.

    Tiles of rows are decoded to float32 for each product, because TensorFlow's own products of the
    narrow types do not fit: that of bfloat16 rounds the scores to 8 bits as well, which makes ties
    of neighbours, and that of int8 has no fast kernel on CPUs.

    Args:
        table: `[num_entities, width]`, finite.
        precision: One of `PRECISIONS`.

    Raises:
        ValueError: The precision is unknown.
        DataError: The table holds NaN or infinite values.
    """

    def __init__(self, table: np.ndarray, precision: str = "float32"):
        super().__init__(name="entities")
        check_choice("precision", precision, PRECISIONS)
        check_finite("entities", table)
        self.precision = precision
        self.num_entities, self.width = table.shape
        self._scales = None
        if precision == "int8":
            table, scales = _quantize(table)
            self._scales = tf.Variable(scales, trainable=False, name="scales")
        self._table = tf.Variable(tf.cast(table, precision), trainable=False, name="table")

    def rows(self, ids: tf.Tensor) -> tf.Tensor:
        """Returns the embeddings `[batch, width]` float32 of ids `[batch]`."""
        # Rows of the value, not of the variable: after one sparse read of a variable, TensorFlow
        # would copy the whole table for every matrix product.
        rows = tf.cast(tf.gather(self._table.read_value(), ids), tf.float32)
        if self._scales is None:
            return rows
        return rows * tf.gather(self._scales.read_value(), ids)[:, tf.newaxis]

    def scores(self, queries: tf.Tensor) -> tf.Tensor:
        """Returns the scores `[batch, num_entities]` of queries `[batch, width]`.

        They are rounded as in an evaluation, see `quatre_tf.ranking.ranks.candidate_scores`.
        """
        tiles = tf.TensorArray(
            tf.float32, 0, dynamic_size=True, infer_shape=False, element_shape=[None, None]
        )
        tile = self._tile_size(queries)
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
        tile = tf.maximum(self._tile_size(queries), k)
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

    def _tile_size(self, queries: tf.Tensor) -> tf.Tensor:
        if self.precision != "float32":
            return tf.constant(max(1, _TILE_FLOATS // self.width))
        return tf.maximum(_LEAST_TILE, _TILE_SCORES // tf.maximum(tf.shape(queries)[0], 1))

    def _tile_scores(
        self, product: Callable, queries: tf.Tensor, start: tf.Tensor, limit: tf.Tensor
    ) -> tf.Tensor:
        """Returns `[batch, tile]`, for the entities from `start` to before `limit`."""
        # Leading rows of a tensor are a view on it: nothing is copied.
        rows = tf.cast(self._table.read_value()[start:limit], tf.float32)
        scores = product(queries, rows)
        return scores if self._scales is None else scores * self._scales.read_value()[start:limit]


def check_finite(name: str, table: np.ndarray) -> None:
    """Raises DataError if a table has NaN or infinite values."""
    if not np.isfinite(table).all():
        raise DataError(
            f"The table of {name} holds NaN or infinite values: such a model cannot be served. "
            "Train it again with a smaller learning rate or a stronger regularisation."
        )


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


def _quantize(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns rows of whole numbers from -127 to 127, and their scales `[num_entities]`."""
    scales = np.abs(table).max(axis=1) / 127
    # A row of zeros has any scale.
    scales = np.where(scales > 0, scales, 1).astype(np.float32)
    return np.rint(table / scales[:, np.newaxis]).astype(np.int8), scales
