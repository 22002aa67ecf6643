"""Counts competitors by products in bfloat16, and takes those in float32 only where they decide.

A processor with matrix instructions multiplies in bfloat16 several times as quickly as in float32.
The product is wrong by a known amount: with q', e' rounded, by Cauchy and Schwarz

    |q . e - q' . e'| = |(q - q') . e + q' . (e - e')| <= |q - q'| |e| + |q'| |e - e'|

where the norms are computed from the vectors at hand, and a little for sums in float32. A score
further than that from the target's is better or worse for certain. In a trained model all but a
few in a thousand are: targets rank high, where scores are sparse. The others are open, and settled
so:

1. the open scores of `GROUP` queries are one block per entity, named by a word of bits;
2. of each group of queries the entities with open scores, and the targets, are gathered, and their
   product is taken in float32. It is rounded as in a float32 tile (`ROW_MULTIPLE` queries).

So the counts are those of the float32 tiles. A target with too many open scores, because it ranks
low or the model was not trained, is better not screened: `is_narrow` says which.

Alternatives that were measured and dropped: all queries screened, however many scores are open (on
WN18RR gathering took what the product had saved); float32 for the others of each tile by itself (a
product of 128 queries runs at 0.8 of the rate of 512, and few tiles have so many of them).
"""

import functools

import tensorflow as tf

from quatre_tf.ranking.entity_lists import (
    Asked,
    among_candidates,
    distinct_lists,
    member_masks,
    members,
    sum_members,
)
from quatre_tf.ranking.table import ROW_MULTIPLE, Rough
from quatre_tf.ranking.targets import map_targets

# Queries that share the products of step 2: as many as have the rounding of a tile.
GROUP = ROW_MULTIPLE
# The share of a query's scores that may be open; beyond it float32 for all is quicker.
_NARROW = 0.02
# Tiles whose open blocks are settled together, and how many blocks they may be: some 10 MB.
_SPAN = 8
_MOST_BLOCKS = 2**17
# Entities that are gathered at once.
_CHUNK = 1024
# Below every score that is ranked, and exactly what it is in bfloat16.
_LEFT_OUT = -(2.0**126)


def is_narrow(sample: Rough, queries: Rough, thresholds: tf.Tensor, slack: tf.Tensor) -> tf.Tensor:
    """Returns `[depth, batch]` bool: whether few scores are open, by a sample of the entities.

    Args:
        sample: Some entities, by rows.
        queries: The queries, by columns.
        thresholds: `[depth, batch]`, the scores of the targets in float32, however rounded.
        slack: `[depth, batch]`, of `threshold_errors`.
    """
    scores = tf.linalg.matmul(sample.values, queries.values)
    compare = functools.partial(_compare, scores, sample, queries)
    everywhere = tf.fill(tf.shape(thresholds)[:1], tf.shape(thresholds)[1])
    _, words = map_targets(compare, [thresholds, slack], everywhere, num_results=2)
    opened = tf.reduce_sum(tf.cast(_bits(words), tf.float32), axis=0)
    size = tf.cast(tf.size(sample.norms), tf.float32)
    return tf.reshape(opened, tf.shape(thresholds)) <= _NARROW * size


def threshold_errors(table: Rough, queries: Rough, targets: tf.Tensor) -> tf.Tensor:
    """Returns how far apart two roundings of a target's score in float32 may be.

    Args:
        table: The entities, by rows.
        queries: The queries, by columns.
        targets: `[..., batch]`, as the errors.
    """
    return 1.01 * _sum_error(queries) * queries.norms * tf.gather(table.norms, targets)


def count_screened(
    table: Rough,
    queries: Rough,
    exact: tuple[tf.Tensor, tf.Tensor],
    targets: tuple[tf.Tensor, tf.Tensor, tf.Tensor],
    asked: Asked,
    entity_tile: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Counts as `quatre_tf.ranking.tiles.count_tile`, or gives up.

    Args:
        table: The entities, by rows.
        queries: The queries, by columns; their number is a multiple of `GROUP`.
        exact: The entities `[num_entities, width]` and the queries `[batch, width]`, in float32.
        targets: `(thresholds, slack, widths)`: `[depth, batch]` as for `is_narrow`, the thresholds
            above all scores to leave a target out, whose counts are 0 then; `[depth]` of
            `leading_widths`.
        asked: What the queries are asked for; no target of it is -1.
        entity_tile: Entities scored at once, int64.

    Returns:
        `(better, equal, done)`: both `[1 + num_sets, depth, batch]` int32, to be used only if
        `done`: the sample of `is_narrow` may have been misleading, and open scores take memory.
    """
    *limits, widths = targets
    num_entities = tf.size(table.norms, tf.int64)
    depth, batch = tf.unstack(tf.shape(asked.targets))
    grouped = tf.reshape(asked.targets, [depth, -1, GROUP])
    lists, slots = distinct_lists(asked.set_lists)
    better = equal = tf.zeros([tf.shape(slots)[0], depth, batch], tf.int32)
    first, done = tf.constant(0, tf.int64), tf.constant(True)
    # The words of a span take no more memory for many targets than for one.
    span = tf.cast(tf.maximum(_SPAN // depth, 1), tf.int64) * entity_tile
    while done and first < num_entities:
        tf.autograph.experimental.set_loop_options(parallel_iterations=1)
        limit = tf.minimum(first + span, num_entities)
        words = tf.TensorArray(
            tf.int32, 0, dynamic_size=True, infer_shape=False, element_shape=[None, None, None]
        )
        for start in tf.range(first, limit, entity_tile):
            tf.autograph.experimental.set_loop_options(parallel_iterations=1)
            tile = (start, tf.minimum(start + entity_tile, limit), num_entities)
            part = Rough(*(of_all[start : tile[1]] for of_all in table))
            scores = tf.linalg.matmul(part.values, queries.values)
            known = members(asked.known_keys, asked.known_lists, tile)
            absent = tf.fill(tf.shape(known)[:1], tf.constant(_LEFT_OUT, tf.bfloat16))
            # In the memory of the product, which nobody else wants.
            scores = tf.tensor_scatter_nd_update(scores, known, absent)
            if tf.shape(asked.set_lists)[0] > 0:
                of_sets = member_masks(asked.set_keys, lists, tile), slots
                compare = functools.partial(_compare_in_sets, scores, part, queries, *of_sets)
                sums, opened = map_targets(compare, limits, widths, num_results=2)
            else:
                compare = functools.partial(_compare, scores, part, queries)
                sums, opened = map_targets(compare, limits, widths, num_results=2)
            better += sums
            words = words.write(words.size(), opened)
        gathered = words.concat()
        done = tf.math.count_nonzero(gathered, dtype=tf.int32) <= _MOST_BLOCKS
        if done:
            found = _settle(*exact, grouped, _open_blocks(gathered, first))
            more = _sum_settled(*found, asked, num_entities)
            better, equal = better + more[0], equal + more[1]
        first = limit
    return better, equal, done


def score_errors(scores: tf.Tensor, table: Rough, queries: Rough) -> tf.Tensor:
    """Returns bounds `[entities, batch]` of how wrong scores in bfloat16 may be.

    Args:
        scores: `[entities, batch]`, the product of the two next, as float32.
        table: Entities, by rows.
        queries: By columns.
    """
    query_errors = queries.errors + _sum_error(queries) * queries.norms
    errors = table.norms[:, tf.newaxis] * query_errors
    errors += table.errors[:, tf.newaxis] * queries.norms
    # The product is rounded to bfloat16 once more at its end; without oneDNN it is cut off there.
    errors += 2.0**-7 * tf.abs(scores)
    # A hundredth more: for what is computed here in float32.
    return 1.01 * errors


def _sum_error(queries: Rough) -> tf.Tensor:
    """Returns the relative error of two dot products in float32, of elements in any order."""
    return 2.0**-22 * tf.cast(tf.shape(queries.values)[0], tf.float32)


def _compare(
    scores: tf.Tensor, table: Rough, queries: Rough, thresholds: tf.Tensor, slack: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Compares scores with those of targets of the first k queries, as far as they are certain.

    Args:
        scores: `[entities, batch]` bfloat16, the product of the two next.
        table: Entities, by rows.
        queries: By columns.
        thresholds: `[k]`.
        slack: `[k]`.

    Returns:
        `[1, k]` int32, how many scores are better for certain; and words of open scores
        `[entities, groups]` int32, where bit j stands for query j of the group.
    """
    return _compare_leading(scores, table, queries, thresholds, slack, with_codes=False)


def _compare_in_sets(
    scores: tf.Tensor,
    table: Rough,
    queries: Rough,
    masks: tf.Tensor,
    slots: tf.Tensor,
    thresholds: tf.Tensor,
    slack: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Compares as `_compare`, and counts for each set: `[1 + num_sets, k]`."""
    codes, words = _compare_leading(scores, table, queries, thresholds, slack, with_codes=True)
    return sum_members(codes, masks, slots), words


@tf.function(jit_compile=True, reduce_retracing=True)
def _compare_leading(
    scores: tf.Tensor,
    table: Rough,
    queries: Rough,
    thresholds: tf.Tensor,
    slack: tf.Tensor,
    with_codes: bool,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns what `_compare` does; with codes `[entities, k]` float32, 1 for better, not sums."""
    leading = tf.size(thresholds)
    scores = tf.cast(scores[:, :leading], tf.float32)
    columns = Rough(queries.values[:, :leading], queries.norms[:leading], queries.errors[:leading])
    error = score_errors(scores, table, columns) + slack
    better = scores - error > thresholds
    opened = ~(better | (scores + error < thresholds))
    weights = tf.constant([2.0**j for j in range(GROUP)])
    blocks = tf.reshape(tf.cast(opened, tf.float32), [tf.shape(scores)[0], -1, GROUP])
    # Sums of distinct powers of two below 2^24 are exact in float32.
    words = tf.cast(tf.reduce_sum(blocks * weights, axis=2), tf.int32)
    if with_codes:
        return tf.cast(better, tf.float32), words
    return tf.reduce_sum(tf.cast(better, tf.int32), axis=0, keepdims=True), words


def _open_blocks(words: tf.Tensor, first: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Returns `(groups, entities, open)` of the blocks, groups ascending.

    Args:
        words: `[entities, depth, groups]` int32.
        first: The entity of the first row.

    Returns:
        Int64 `[blocks]` twice, and bool `[blocks, depth, GROUP]`.
    """
    words = tf.transpose(words, [2, 0, 1])
    places = tf.where(tf.reduce_any(words != 0, axis=2))
    groups, entities = tf.unstack(places, axis=1)
    return groups, entities + first, _bits(tf.gather_nd(words, places))


def _bits(words: tf.Tensor) -> tf.Tensor:
    """Returns bool `[..., GROUP]` of words like `_compare`'s."""
    weights = tf.constant([1 << j for j in range(GROUP)])
    return tf.bitwise.bitwise_and(words[..., tf.newaxis], weights) != 0


def _settle(
    table: tf.Tensor,
    queries: tf.Tensor,
    targets: tf.Tensor,
    blocks: tuple[tf.Tensor, tf.Tensor, tf.Tensor],
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
    """Compares the open scores in float32.

    Args:
        table: `[num_entities, width]`.
        queries: `[batch, width]`.
        targets: `[depth, groups, GROUP]` int64.
        blocks: Of `_open_blocks`.

    Returns:
        `(entities, places, better, equal)` of those open ones that are not worse, with the place of
        the target in `targets`: int64 twice and bool twice, all `[found]`.
    """
    groups, entities, opened = blocks
    size, depth = tf.size(groups), tf.shape(targets)[0]
    flags = tf.TensorArray(
        tf.bool, 0, dynamic_size=True, infer_shape=False, element_shape=[None, 2, GROUP]
    )
    start = tf.constant(0)
    while start < size:
        tf.autograph.experimental.set_loop_options(parallel_iterations=1)
        group = groups[start]
        end = tf.searchsorted(groups, [group], side="right")[0]
        limit = tf.minimum(end, start + _CHUNK)
        # With the targets in the same product rounding can neither make nor hide a tie.
        rows = tf.concat([tf.reshape(targets[:, group], [-1]), entities[start:limit]], axis=0)
        place = GROUP * tf.cast(group, tf.int32)
        columns = tf.transpose(queries[place : place + GROUP])
        scores = tf.linalg.matmul(tf.gather(table, rows), columns)
        of_targets = tf.reshape(scores[: depth * GROUP], [depth, GROUP, GROUP])
        thresholds = tf.linalg.diag_part(of_targets)
        others = scores[depth * GROUP :, tf.newaxis]
        both = tf.stack([others > thresholds, others == thresholds], axis=2)
        flags = flags.write(flags.size(), tf.reshape(both, [-1, 2, GROUP]))
        start = limit
    decided = tf.reshape(flags.concat(), [size, depth, 2, GROUP]) & opened[:, :, tf.newaxis]
    better, equal = tf.unstack(decided, axis=2)
    found = tf.where(better | equal)
    rows, depths, queries_of_groups = tf.unstack(found, axis=1)
    batch = tf.shape(queries, tf.int64)[0]
    return (
        tf.gather(entities, rows),
        depths * batch + tf.gather(groups, rows) * GROUP + queries_of_groups,
        tf.gather_nd(better, found),
        tf.gather_nd(equal, found),
    )


def _sum_settled(
    entities: tf.Tensor,
    places: tf.Tensor,
    better: tf.Tensor,
    equal: tf.Tensor,
    asked: Asked,
    num_entities: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns `(better, equal)` `[1 + num_sets, depth, batch]` int32 of what `_settle` found."""
    shape = tf.shape(asked.targets)
    lists = tf.gather(asked.set_lists, places % tf.cast(shape[1], tf.int64), axis=1)
    inside = among_candidates(asked, lists, entities, num_entities)

    def total(flags: tf.Tensor) -> tf.Tensor:
        each = tf.transpose(tf.cast(flags & inside, tf.int32))
        sums = tf.math.unsorted_segment_sum(each, places, tf.size(asked.targets))
        return tf.reshape(tf.transpose(sums), tf.concat([[-1], shape], axis=0))

    return total(better), total(equal)
