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

So the counts are those of the float32 tiles. A query with too many open scores, of a target that
ranks low or of a model that was not trained, is better not screened: `is_narrow` says which.

Alternatives that were measured and dropped: all queries screened, however many scores are open (on
WN18RR gathering took what the product had saved); float32 for the others of each tile by itself (a
product of 128 queries runs at 0.8 of the rate of 512, and few tiles have so many of them).
"""

import tensorflow as tf

from quatre_tf.ranking_lists import Asked, contains, distinct_lists, left_out, sum_members
from quatre_tf.ranking_table import ROW_MULTIPLE, Rough

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
    """Returns `[batch]` bool: whether few scores of a query are open, by a sample of the entities.

    Args:
        sample: Some entities, by rows.
        queries: The queries, by columns.
        thresholds: `[batch]`, the scores of the targets in float32, however they are rounded.
        slack: `[batch]`, of `threshold_errors`.
    """
    scores = tf.linalg.matmul(sample.values, queries.values)
    _, words = _compare(scores, sample, queries, thresholds, slack, with_codes=False)
    opened = tf.reduce_sum(tf.cast(_bits(words), tf.float32), axis=0)
    size = tf.cast(tf.size(sample.norms), tf.float32)
    return tf.reshape(opened, [-1]) <= _NARROW * size


def threshold_errors(table: Rough, queries: Rough, targets: tf.Tensor) -> tf.Tensor:
    """Returns `[batch]`: how far apart two roundings of a target's score in float32 may be."""
    return 1.01 * _sum_error(queries) * queries.norms * tf.gather(table.norms, targets)


def count_screened(
    table: Rough,
    queries: Rough,
    exact: tuple[tf.Tensor, tf.Tensor],
    thresholds: tf.Tensor,
    slack: tf.Tensor,
    asked: Asked,
    entity_tile: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Counts as `quatre_tf.tiled_ranking.count_tile`, or gives up.

    Args:
        table: The entities, by rows.
        queries: The queries, by columns; their number is a multiple of `GROUP`.
        exact: The entities `[num_entities, width]` and the queries `[batch, width]`, in float32.
        thresholds: `[batch]`, as for `is_narrow`; above all scores to leave a query out, whose
            counts are 0 then.
        slack: `[batch]`, of `threshold_errors`.
        asked: What the queries are asked for.
        entity_tile: Entities scored at once, int64.

    Returns:
        `(better, equal, done)`: both `[1 + num_sets, batch]` int32, to be used only if `done`: the
        sample of `is_narrow` may have been misleading, and open scores take memory.
    """
    num_entities = tf.size(table.norms, tf.int64)
    grouped = tf.reshape(asked.targets, [-1, GROUP])
    lists, slots = distinct_lists(asked.set_lists)
    better = equal = tf.zeros_like(slots)
    first, done = tf.constant(0, tf.int64), tf.constant(True)
    while done and first < num_entities:
        tf.autograph.experimental.set_loop_options(parallel_iterations=1)
        limit = tf.minimum(first + _SPAN * entity_tile, num_entities)
        words = tf.TensorArray(
            tf.int32, 0, dynamic_size=True, infer_shape=False, element_shape=[None, None]
        )
        for start in tf.range(first, limit, entity_tile):
            tf.autograph.experimental.set_loop_options(parallel_iterations=1)
            tile = (start, tf.minimum(start + entity_tile, limit), num_entities)
            part = Rough(*(of_all[start : tile[1]] for of_all in table))
            scores = tf.linalg.matmul(part.values, queries.values)
            places = left_out(asked, tile)
            absent = tf.fill(tf.shape(places)[:1], tf.constant(_LEFT_OUT, tf.bfloat16))
            # In the memory of the product, which nobody else wants.
            scores = tf.tensor_scatter_nd_update(scores, places, absent)
            if tf.shape(asked.set_lists)[0] > 0:
                codes, opened = _compare(scores, part, queries, thresholds, slack, with_codes=True)
                better += sum_members(codes, asked.set_keys, lists, slots, tile)
            else:
                sums, opened = _compare(scores, part, queries, thresholds, slack, with_codes=False)
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


@tf.function(jit_compile=True, reduce_retracing=True)
def _compare(
    scores: tf.Tensor,
    table: Rough,
    queries: Rough,
    thresholds: tf.Tensor,
    slack: tf.Tensor,
    with_codes: bool,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Compares scores with the targets', as far as they are certain.

    Args:
        scores: `[entities, batch]` bfloat16, the product of the two next.
        table: Entities, by rows.
        queries: By columns.
        thresholds: `[batch]`.
        slack: `[batch]`.
        with_codes: Whether codes are wanted, or their sums.

    Returns:
        `[entities, batch]` float32, 1 where a score is better for certain, or the number of these
        `[1, batch]` int32; and words of open scores `[entities, groups]` int32, where bit j stands
        for query j of the group.
    """
    scores = tf.cast(scores, tf.float32)
    error = score_errors(scores, table, queries) + slack
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
        words: `[entities, groups]` int32.
        first: The entity of the first row.

    Returns:
        Int64 `[blocks]` twice, and bool `[blocks, GROUP]`.
    """
    words = tf.transpose(words)
    places = tf.where(words != 0)
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
        targets: `[groups, GROUP]` int64.
        blocks: Of `_open_blocks`.

    Returns:
        `(entities, queries, better, equal)` of those open ones that are not worse: int64 twice and
        bool twice, all `[found]`.
    """
    groups, entities, opened = blocks
    size = tf.size(groups)
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
        rows = tf.gather(table, tf.concat([targets[group], entities[start:limit]], axis=0))
        place = GROUP * tf.cast(group, tf.int32)
        scores = tf.linalg.matmul(rows, tf.transpose(queries[place : place + GROUP]))
        thresholds = tf.linalg.diag_part(scores[:GROUP])
        flags = flags.write(
            flags.size(),
            tf.stack([scores[GROUP:] > thresholds, scores[GROUP:] == thresholds], axis=1),
        )
        start = limit
    decided = flags.concat() & opened[:, tf.newaxis]
    better, equal = tf.unstack(decided, axis=1)
    found = tf.where(better | equal)
    rows = found[:, 0]
    return (
        tf.gather(entities, rows),
        tf.gather(groups, rows) * GROUP + found[:, 1],
        tf.gather_nd(better, found),
        tf.gather_nd(equal, found),
    )


def _sum_settled(
    entities: tf.Tensor,
    queries: tf.Tensor,
    better: tf.Tensor,
    equal: tf.Tensor,
    asked: Asked,
    num_entities: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns `(better, equal)` `[1 + num_sets, batch]` int32 of what `_settle` found."""
    lists = tf.gather(asked.set_lists, queries, axis=1)
    inside = contains(asked.set_keys, lists * num_entities + entities) & (lists >= 0)
    inside = tf.pad(inside, [[1, 0], [0, 0]], constant_values=True)

    def total(flags: tf.Tensor) -> tf.Tensor:
        each = tf.transpose(tf.cast(flags & inside, tf.int32))
        return tf.transpose(tf.math.unsorted_segment_sum(each, queries, tf.size(asked.targets)))

    return total(better), total(equal)
