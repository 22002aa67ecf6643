"""The one loop over the entity table: scores of queries, tile by tile, in bounded memory.

A tile holds the scores of consecutive entities for some queries. It is used while it is in the
processor's cache, and never written out. Ranks (`quatre_tf.ranking.counting`), top-k answers and
missing facts differ in what they do with a tile.
"""

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from quatre_tf.ranking.entity_lists import Tile
from quatre_tf.sharded_rows import Rows, num_rows, sum_of_squares
from quatre_tf.similarities import ROW_BLOCK, Similarity

# On x86 CPUs a product with any number of queries from 16 on was found to be rounded alike, and one
# with fewer otherwise: so a query alone gets the rank that it has among others.
ROW_MULTIPLE = 16
# Scores of a tile of `top_k`: 16 MiB, which stay in the cache.
_TOP_K_SCORES = 2**22
_LEAST_TOP_K_TILE = 2048


class CandidateTable(NamedTuple):
    """The entities as ranking reads them.

    Attributes:
        rows: `[num_entities, width]`.
        norm: Float64 scalar, no smaller than the norm of any row; not finite if an element is not.
    """

    rows: Rows
    norm: tf.Tensor


def candidate_table(rows: Rows) -> CandidateTable:
    """Prepares entity rows `[num_entities, width]` for ranking: one pass, no copy."""
    # The norm of the whole table.
    return CandidateTable(rows, tf.sqrt(sum_of_squares(rows)))


def scan_tiles(
    similarity: Similarity,
    rows: Rows,
    queries: tf.Tensor,
    tile_size: int | tf.Tensor,
    visit: Callable[..., tuple[tf.Tensor, ...]],
    state: tuple[tf.Tensor, ...],
    portable: bool = False,
    fill_up: bool = False,
) -> tuple[tf.Tensor, ...]:
    """Visits the scores of all rows, tile by tile.

    Args:
        similarity: Scores rows and queries.
        rows: `[num_entities, width]`.
        queries: `[batch, width]`.
        tile_size: Entities scored at once.
        visit: `visit(scores, tile, *state)` returns the state after a tile: scores
            `[entities of the tile, batch]`, and `(start, limit, num_entities)` int64.
        state: Tensors before the first tile; sizes may change.
        portable: Whether only standard operations are used, for models that are served.
        fill_up: Whether a copy of the last tile is filled up to the size of the others, because the
            rounding of a product may depend on its shape.
    """
    num_entities = num_rows(rows)
    score = similarity.portable_tile if portable else similarity.tile
    tile_size = tf.cast(tile_size, tf.int64)

    def step(start: tf.Tensor, *state: tf.Tensor) -> tuple[tf.Tensor, ...]:
        limit = tf.minimum(start + tile_size, num_entities)
        if not fill_up:
            # Rows that fill no block are a tile of their own: `products` copies what they are in.
            blocks = (limit - start) // ROW_BLOCK * ROW_BLOCK
            limit = tf.where(blocks > 0, start + blocks, limit)
        # Leading rows of a tensor are a view on it: nothing is copied.
        some, missing = rows[start:limit], start + tile_size - limit
        if fill_up:
            some = tf.cond(missing > 0, lambda: tf.pad(some, [[0, missing], [0, 0]]), lambda: some)
        scores = score(some, queries)[: limit - start]
        return limit, *visit(scores, (start, limit, num_entities), *state)

    # One tile after the other: each uses all cores, and two would leave the cache.
    _, *state = tf.while_loop(
        lambda start, *_: start < num_entities,
        step,
        (tf.constant(0, tf.int64), *state),
        shape_invariants=(tf.TensorShape([]), *any_sizes(state)),
        parallel_iterations=1,
    )
    return tuple(state)


def any_sizes(state: tuple[tf.Tensor, ...]) -> tuple[tf.TensorShape, ...]:
    """Returns shapes of any size."""
    return tuple(tf.TensorShape([None] * tensor.shape.rank) for tensor in state)


def top_k(
    similarity: Similarity,
    rows: tf.Tensor,
    queries: tf.Tensor,
    k: int | tf.Tensor,
    mask_scores: Callable[[tf.Tensor, Tile], tf.Tensor] | None = None,
    portable: bool = False,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the highest scores of queries.

    Args:
        similarity: Scores rows and queries.
        rows: `[num_entities, width]`.
        queries: `[batch, width]`.
        k: How many, a positive scalar.
        mask_scores: Returns scores `[entities of the tile, batch]` with minus infinity for those
            that are no candidates; None: all are.
        portable: As for `scan_tiles`.

    Returns:
        Scores, highest first, and int32 ids, both `[batch, min(k, num_entities)]`; of equal scores
        the lower id comes first.
    """
    batch = tf.shape(queries)[0]
    k = tf.minimum(tf.cast(k, tf.int32), tf.shape(rows)[0])
    # A single query is a product of a matrix and a vector, in half the time of a padded one.
    padded = tf.pad(queries, [[0, tf.where(batch == 1, 0, -batch % ROW_MULTIPLE)], [0, 0]])

    def visit(
        scores: tf.Tensor, tile: Tile, best: tf.Tensor, ids: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        scores = scores[:, :batch]
        if mask_scores is not None:
            scores = mask_scores(scores, tile)
        found, places = _top_k(tf.transpose(scores), k)
        # Earlier tiles come first, and so do lower ids of equal scores.
        best, order = _top_k(tf.concat([best, found], axis=1), k)
        places += tf.cast(tile[0], tf.int32)
        return best, tf.gather(tf.concat([ids, places], axis=1), order, batch_dims=1)

    # Not less than k, so that merging stays cheaper than what is merged.
    size = tf.maximum(_LEAST_TOP_K_TILE, _TOP_K_SCORES // tf.maximum(batch, 1))
    nothing = tf.zeros([batch, 0], similarity.dtype), tf.zeros([batch, 0], tf.int32)
    best, ids = scan_tiles(similarity, rows, padded, tf.maximum(size, k), visit, nothing, portable)
    return best, ids


def _top_k(scores: tf.Tensor, k: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    return tf.math.top_k(scores, tf.minimum(k, tf.shape(scores)[1]))
