"""Sorted entity lists of a tile: targets, known answers, and members of candidate sets.

A tile has the scores of consecutive entities for some queries. It is named by the int64 triple
`(start, limit, num_entities)`: its first entity, that after its last, and how many there are.
Lists are ascending int64 keys `list * num_entities + entity`; a list of -1 is empty.

A query may have several targets. Their tensors are `[depth, batch]`; queries with more targets come
first, so those with a second or third one are leading columns of the scores.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import tensorflow as tf

Tile = tuple[tf.Tensor, tf.Tensor, tf.Tensor]

# Of leading columns: comparing is compiled for each width.
_WIDTHS = (64, 128, 256, 512)


class RankTargets(NamedTuple):
    """The answers that queries are ranked by, and what competes with them; all int64.

    Attributes:
        targets: `[depth, batch]`, the true answers that are ranked; -1 where a query has fewer.
        known_keys: `[known]`, lists of answers that do not compete.
        known_lists: `[batch]`, the list of each query.
        set_keys: `[members]`, lists of candidates.
        set_lists: `[num_sets, batch]`, for each further set the list of each query.
    """

    targets: tf.Tensor
    known_keys: tf.Tensor
    known_lists: tf.Tensor
    set_keys: tf.Tensor
    set_lists: tf.Tensor


def members(keys: tf.Tensor, lists: tf.Tensor, tile: Tile) -> tf.Tensor:
    """Returns `[found, 2]` int64: the members in the tile as (place in it, index in `lists`)."""
    start, limit, num_entities = tile
    first = lists * num_entities
    ends_of_lists = tf.concat([first + start, first + limit], axis=0)
    starts, limits = tf.split(tf.searchsorted(keys, ends_of_lists, out_type=tf.int64), 2)
    ends = tf.cumsum(limits - starts)
    found = tf.range(tf.reduce_sum(limits - starts))
    # Row ids of a ragged tensor would take a mask of [lists, longest of them].
    rows = tf.searchsorted(ends, found, side="right", out_type=tf.int64)
    listed = tf.gather(keys, found + tf.gather(limits - ends, rows))
    places = listed - tf.gather(first, rows) - start
    return tf.stack([places, rows], axis=1)


def mask_members(
    scores: tf.Tensor,
    keys: tf.Tensor,
    lists: tf.Tensor,
    tile: Tile,
    put: Callable[..., tf.Tensor] = tf.tensor_scatter_nd_update,
) -> tf.Tensor:
    """Returns scores `[entities of the tile, batch]` with minus infinity for members of lists.

    Args:
        scores: The scores of the tile.
        keys: `[members]` int64, the lists.
        lists: `[batch]` int64, the list of each query.
        tile: The tile.
        put: Puts values into the scores; `put_in_place` where nothing else reads them.
    """
    places = members(keys, lists, tile)
    absent = tf.fill(tf.shape(places)[:1], tf.constant(-np.inf, scores.dtype))
    return put(scores, places, absent)


def keep_members(scores: tf.Tensor, keys: tf.Tensor, lists: tf.Tensor, tile: Tile) -> tf.Tensor:
    """Returns scores `[entities of the tile, batch]` with minus infinity for all but members.

    Args:
        scores: The scores of the tile.
        keys: `[members]` int64, the lists.
        lists: `[batch]` int64, the list of each query.
        tile: The tile.
    """
    # Queries share lists, which can have most of the entities.
    distinct, places = tf.unique(lists)
    # Row 0 of the masks has all entities.
    masks = tf.gather(member_masks(keys, distinct, tile), places + 1)
    return tf.where(tf.transpose(masks) > 0, scores, -np.inf)


def contains(keys: tf.Tensor, wanted: tf.Tensor) -> tf.Tensor:
    """Returns whether each key that is wanted is there; both are int64 of any shape."""
    flat = tf.reshape(wanted, [-1])
    # A key is there if it and the next number have different insertion points.
    here, after = tf.split(tf.searchsorted(keys, tf.concat([flat, flat + 1], axis=0)), 2)
    return tf.reshape(here < after, tf.shape(wanted))


def competing_targets(rank_targets: RankTargets, num_entities: tf.Tensor) -> tf.Tensor:
    """Returns `[1 + num_sets, depth, batch]` int32: 1 where a target would compete with itself.

    A known one does not compete at all.

    Args:
        rank_targets: What is ranked; no target of it is -1.
        num_entities: Scalar int64.
    """
    targets, known_keys, known_lists, set_keys, set_lists = rank_targets
    is_known = contains(known_keys, known_lists * num_entities + targets)
    # The keys of list -1 are negative, so nothing has them.
    in_sets = contains(set_keys, set_lists[:, tf.newaxis] * num_entities + targets)
    candidates = tf.concat([tf.ones_like(is_known)[tf.newaxis], in_sets], axis=0)
    return tf.cast(candidates & ~is_known, tf.int32)


def distinct_lists(lists: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the distinct lists `[k]`, and the row of each (set, query) in their masks.

    Args:
        lists: `[num_sets, batch]` int64.

    Returns:
        The lists, and rows `[1 + num_sets, batch]` int32; row 0 of the masks has all entities.
    """
    distinct, slots = tf.unique(tf.reshape(lists, [-1]))
    slots = tf.pad(tf.reshape(slots, tf.shape(lists)) + 1, [[1, 0], [0, 0]])
    return distinct, slots


def member_masks(keys: tf.Tensor, lists: tf.Tensor, tile: Tile) -> tf.Tensor:
    """Returns `[1 + k, entities of the tile]` float32 0 and 1: all entities, then the lists.

    Args:
        keys: `[members]` int64, of the sets.
        lists: Of `distinct_lists`.
        tile: The tile.
    """
    size = tile[1] - tile[0]
    places = tf.reverse(members(keys, lists, tile), axis=[1])
    shape = tf.stack([tf.size(lists, tf.int64), size])
    listed = tf.scatter_nd(places, tf.ones(tf.shape(places)[:1]), shape)
    return tf.concat([tf.ones(tf.stack([1, size])), listed], axis=0)


def sum_members(codes: tf.Tensor, masks: tf.Tensor, slots: tf.Tensor) -> tf.Tensor:
    """Sums codes over the members of each set of candidates: a product with 0/1 masks.

    Args:
        codes: `[entities of the tile, k]` float32, of the first k queries.
        masks: Of `member_masks`.
        slots: Of `distinct_lists`.

    Returns:
        `[1 + num_sets, k]` int32, all entities first; exact up to sums of 2^24.
    """
    sums = tf.linalg.matmul(masks, codes)
    slots = slots[:, : tf.shape(codes)[1]]
    picked = tf.gather(tf.transpose(sums), tf.transpose(slots), batch_dims=1)
    return tf.cast(tf.transpose(picked), tf.int32)


def leading_widths(is_asked: tf.Tensor) -> tf.Tensor:
    """Returns `[depth]` int32: how many leading queries have all the d-th targets.

    Args:
        is_asked: `[depth, batch]` bool, where there is a target.
    """
    batch = tf.shape(is_asked)[1]
    needed = tf.reduce_max(tf.where(is_asked, tf.range(batch) + 1, 0), axis=1)
    enough = tf.where(tf.constant(_WIDTHS) >= needed[:, tf.newaxis], _WIDTHS, batch)
    return tf.minimum(tf.reduce_min(enough, axis=1), batch)


def map_targets(
    count: Callable[[tf.Tensor], tf.Tensor], thresholds: tf.Tensor, widths: tf.Tensor
) -> tf.Tensor:
    """Counts for the first targets of all queries, then for the second ones, and so on.

    Args:
        count: Is given the d-th thresholds `[width]`, and returns int32 `[rows, width]`.
        thresholds: `[depth, batch]`.
        widths: `[depth]`, of `leading_widths`.

    Returns:
        The counts for all targets, `[rows, depth, batch]`; 0 beyond the width.
    """
    batch = tf.shape(thresholds)[1]

    def of_depth(arguments: tuple[tf.Tensor, tf.Tensor]) -> tf.Tensor:
        row, width = arguments
        return tf.pad(count(row[:width]), [[0, 0], [0, batch - width]])

    # One after the other: each uses all cores.
    counts = tf.map_fn(
        of_depth,
        (thresholds, widths),
        parallel_iterations=1,
        fn_output_signature=tf.TensorSpec([None, None], tf.int32),
    )
    return tf.transpose(counts, [1, 0, 2])
