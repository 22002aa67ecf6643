"""Counts the competitors of queries in one pass over their scores, tile by tile.

A tile of scores is the product of `ENTITY_TILE` rows of the entity table with `QUERY_TILE` queries.
It is counted while it is still in the processor's cache, and never written out:

1. the scores of the known answers become minus infinity: they do not compete;
2. each score becomes a code: 1 if it is better than the target's, 4096 if equal, 0 if worse;
3. the codes are summed; where there are further sets of candidates, the product of 0/1 masks, one a
   set, with the codes counts all sets at once.
   `better + 4096 * equal` of a tile of at most 4095 entities stays below 2^24, so float32 is exact.

A query that has several targets is scored once; steps 2 and 3 follow for each of them.

The rounding of a matrix product may depend on its shape. The tiles have the same shapes whatever
memory there is, and this alone makes ranks the same bit for bit.

The target's score decides every comparison, so it has to have the rounding that it has in its tile.
It is guessed first, by a small product, then compared with what the tiles hold. The guess was right
on every machine tried; were it wrong, the tiles are counted again with the scores found in them.

Alternatives that were measured and dropped: a product of queries with the transposed table (needs a
copy of the table); separate matrices of "better" and "equal" (twice the work); comparisons without
XLA (4 % of the product more); gathering the scores of constrained candidates (a random read for
each, where the mask product streams); gathering the scores of queries with further targets, to
compare with all targets at once (XLA takes longer for it than a product in bfloat16 does).
"""

import functools

import numpy as np
import tensorflow as tf

from quatre_tf.ranking.entity_lists import (
    Asked,
    competing_targets,
    distinct_lists,
    member_masks,
    members,
    sum_members,
)
from quatre_tf.ranking.screened import count_screened, is_narrow, threshold_errors
from quatre_tf.ranking.table import ROW_MULTIPLE, RankingTable, Rough, Screen
from quatre_tf.ranking.targets import leading_widths, map_targets
from quatre_tf.validation import check_positive

# Found by measurement: smaller tiles pay for more operations, larger ones leave the cache.
ENTITY_TILE = 3072
QUERY_TILE = 512
# The weight of an equal score in a code, and the largest tile whose codes fit.
_EQUAL = 4096
_LARGEST_TILE = _EQUAL - 1
# What the error says of scores that have no ranks.
NOT_FINITE = "NaN or infinite"
# Far below the largest float32, 3.4e38: room for the rounding of the bound itself.
_SAFE_SCORE = 1e37
_MAX_SWEEPS = 3
# More queries than this are filled up to a multiple of it: each number of them is compiled.
_BATCH_MULTIPLE = 64
# The share of queries with few open scores from which on they are worth a product in bfloat16.
_WORTH_A_TILE = 0.4


def tile_bytes(width: int, entity_tile: int = ENTITY_TILE, query_tile: int = QUERY_TILE) -> int:
    """Returns the memory in bytes that `count_tile` may take at most, beside its arguments.

    Args:
        width: Floats per embedding.
        entity_tile: Entities scored at once.
        query_tile: Queries scored at once.
    """
    scores = entity_tile * query_tile
    # Scores, codes, and for a close look at them their flags; then the filter in the worst case,
    # all entities known: two int64 per place, once as ranges and once as indices, and a zero.
    per_score = 4 + 4 + 1 + 2 * 16 + 4
    # Two constrained sets with a relation per query, as scatter and as its copy.
    masks = 2 * 4 * (2 * query_tile + 1) * entity_tile
    queries = 4 * query_tile * (4 * width + query_tile)
    return scores * per_score + masks + queries


def count_tile(
    queries: tf.Tensor, table: RankingTable, asked: Asked, entity_tile: int = ENTITY_TILE
) -> tuple[tf.Tensor, tf.Tensor]:
    """Counts competitors among all entities, and among those of further candidate sets.

    Entities are listed by ascending int64 keys `list * num_entities + entity`: the known answers
    of queries, and the members of candidate sets. A query names its list; -1 names an empty one.
    A target is ranked whether or not a set has it.

    Args:
        queries: `[batch, width]` float32; at most `QUERY_TILE` are meant. Those with more targets
            should come first.
        table: The entities.
        asked: What the queries are asked for.
        entity_tile: Entities scored at once, at most 4095.

    Returns:
        `(better, equal)`, both `[1 + num_sets, depth, batch]` int32, all entities first; without
        meaning where there is no target. With a screened table both are -1 for targets that the
        screening does not suit: to be counted again by the same table without it
        (`RankingTable.exact`), many at once.

    Raises:
        TypeError: Queries or table are not float32.
        ValueError: `entity_tile` is not a positive integer of at most 4095.
        tf.errors.InvalidArgumentError: A score is NaN or infinite, or an id is out of range.
    """
    if (queries.dtype, table.values.dtype) != (tf.float32, tf.float32):
        raise TypeError(
            "Ranks are taken from float32 scores. "
            f"Received: {queries.dtype.name} queries, {table.values.dtype.name} table."
        )
    check_positive("entity_tile", entity_tile, _LARGEST_TILE)
    given = (queries, table, asked)
    # Two traces for all sizes: a process that ranks many models keeps no more.
    specs = tf.nest.map_structure(_spec_of, given)
    return _count.get_concrete_function(*specs, entity_tile)(*given, entity_tile)


def _spec_of(tensor: tf.Tensor | None) -> tf.TensorSpec | None:
    """Returns the kind of a tensor, of any size; None has none."""
    return None if tensor is None else tf.TensorSpec([None] * tensor.shape.rank, tensor.dtype)


@tf.function
def _count(
    queries: tf.Tensor, table: RankingTable, asked: Asked, entity_tile: int
) -> tuple[tf.Tensor, tf.Tensor]:
    batch = tf.shape(queries)[0]
    missing = [[0, -batch % tf.where(batch > _BATCH_MULTIPLE, _BATCH_MULTIPLE, ROW_MULTIPLE)]]
    # Tiles of about one size: a product of a last row by itself would be rounded otherwise.
    num_entities = tf.shape(table.values, tf.int64)[0]
    num_tiles = tf.maximum(-(-num_entities // entity_tile), 1)
    tile = -(-num_entities // num_tiles)
    queries = tf.pad(queries, [*missing, [0, 0]])
    targets = tf.pad(asked.targets, [[0, 0], *missing], constant_values=-1)
    is_asked = targets >= 0
    asked = asked._replace(
        targets=tf.maximum(targets, 0),
        known_lists=tf.pad(asked.known_lists, missing, constant_values=-1),
        set_lists=tf.pad(asked.set_lists, [[0, 0], *missing], constant_values=-1),
    )
    widths = leading_widths(is_asked)
    # By Cauchy and Schwarz no score, and no partial sum of one, is larger than this.
    bound = table.norm * tf.sqrt(2.0 * tf.cast(tf.nn.l2_loss(queries), tf.float64))
    finite = bound < _SAFE_SCORE
    if table.screen is None:
        columns = tf.transpose(queries)
        better, equal = _count_exactly(table.values, columns, asked, widths, finite, tile)
    else:
        # What only fills up has scores of 0 alone, and each would be looked at closely.
        may_be = finite & is_asked
        better, equal = _count_where_it_pays(
            table.values, table.screen, queries, may_be, asked, widths, tile
        )
    equal = tf.where(better < 0, -1, equal - competing_targets(asked, num_entities))
    return better[..., :batch], equal[..., :batch]


def _count_where_it_pays(
    table: tf.Tensor,
    screen: Screen,
    queries: tf.Tensor,
    may_be: tf.Tensor,
    asked: Asked,
    widths: tf.Tensor,
    entity_tile: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Counts competitors of the targets with few open scores that may be screened; else -1."""
    # Rounded in another way than in a product, which `slack` allows for.
    thresholds = tf.map_fn(
        lambda targets: tf.reduce_sum(tf.gather(table, targets) * queries, axis=1),
        asked.targets,
        fn_output_signature=tf.float32,
    )
    rough = Rough.of(queries).by_columns()
    slack = threshold_errors(screen.rows, rough, asked.targets)
    pays = may_be & is_narrow(screen.sample, rough, thresholds, slack)
    better = equal = tf.fill(
        tf.concat([[tf.shape(asked.set_lists)[0] + 1], tf.shape(asked.targets)], axis=0), -1
    )
    share = tf.math.count_nonzero(pays) / tf.maximum(tf.math.count_nonzero(may_be), 1)
    if share > _WORTH_A_TILE:
        limits = tf.where(pays, thresholds, 10 * _SAFE_SCORE)
        better, equal, done = count_screened(
            screen.rows, rough, (table, queries), (limits, slack, widths), asked, entity_tile
        )
        better, equal = tf.where(pays & done, better, -1), tf.where(pays & done, equal, -1)
    return better, equal


def _count_exactly(
    table: tf.Tensor,
    columns: tf.Tensor,
    asked: Asked,
    widths: tf.Tensor,
    finite: tf.Tensor,
    entity_tile: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Counts by float32 scores of all entities, again where a target's score was guessed wrong."""
    thresholds = tf.map_fn(
        lambda targets: guess_target_scores(table, columns, targets),
        asked.targets,
        fn_output_signature=tf.float32,
    )
    given = (table, columns, asked, widths)
    better, equal, found = _sweep(*given, thresholds, finite, entity_tile)
    sweeps = tf.constant(1)
    while tf.reduce_any(found != thresholds):
        tf.debugging.assert_less(sweeps, _MAX_SWEEPS, "Matrix products are not reproducible here.")
        thresholds = found
        better, equal, found = _sweep(*given, thresholds, finite, entity_tile)
        sweeps += 1
    return better, equal


def guess_target_scores(table: tf.Tensor, columns: tf.Tensor, targets: tf.Tensor) -> tf.Tensor:
    """Returns the scores `[batch]` of the targets, rounded as they are in a tile, most probably."""
    # A product of as many rows as a tile has queries: one row alone would be rounded otherwise.
    return tf.linalg.diag_part(tf.linalg.matmul(tf.gather(table, targets), columns))


def assert_finite(scores: tf.Tensor) -> None:
    """Raises InvalidArgumentError if a score is NaN or infinite."""
    tf.debugging.Assert(
        tf.reduce_all(tf.math.is_finite(scores)),
        [f"Scores hold {NOT_FINITE} values; a rank among them would mean nothing."],
    )


def _sweep(
    table: tf.Tensor,
    columns: tf.Tensor,
    asked: Asked,
    widths: tf.Tensor,
    thresholds: tf.Tensor,
    finite: tf.Tensor,
    entity_tile: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Returns `(better, equal, target scores)` of one pass over all entities."""
    num_entities = tf.shape(table, tf.int64)[0]
    lists, slots = distinct_lists(asked.set_lists)
    better = equal = tf.zeros([tf.shape(slots)[0], *tf.unstack(tf.shape(thresholds))], tf.int32)
    found = thresholds
    for start in tf.range(0, num_entities, entity_tile):
        # One tile after the other: each uses all cores, and two would leave the cache.
        tf.autograph.experimental.set_loop_options(parallel_iterations=1)
        tile = (start, tf.minimum(start + entity_tile, num_entities), num_entities)
        # Leading rows of a tensor are a view on it: nothing is copied.
        scores = tf.linalg.matmul(table[start : tile[1]], columns)
        if not finite:
            assert_finite(scores)
        here = tf.where((asked.targets >= start) & (asked.targets < tile[1]))
        places = tf.stack([tf.gather_nd(asked.targets, here) - start, here[:, 1]], axis=1)
        found = tf.tensor_scatter_nd_update(found, here, tf.gather_nd(scores, places))
        with tf.control_dependencies([found]):
            known = members(asked.known_keys, asked.known_lists, tile)
            # In the memory of the product, which nobody else wants any more.
            absent = tf.fill(tf.shape(known)[:1], -np.inf)
            scores = tf.tensor_scatter_nd_update(scores, known, absent)
        if tf.shape(asked.set_lists)[0] > 0:
            of_sets = member_masks(asked.set_keys, lists, tile), slots
            compare = functools.partial(_sum_codes_in_sets, scores, *of_sets)
            sums = map_targets(compare, [thresholds], widths, num_results=1)[0]
        else:
            compare = functools.partial(_sum_codes, scores)
            sums = map_targets(compare, [thresholds], widths, num_results=1)[0]
        better += sums % _EQUAL
        equal += sums // _EQUAL
    return better, equal, found


@tf.function(jit_compile=True, reduce_retracing=True)
def _encode(scores: tf.Tensor, thresholds: tf.Tensor) -> tf.Tensor:
    """Returns the codes `[entities, k]` of the first k queries, whose thresholds are given."""
    scores = scores[:, : tf.size(thresholds)]
    return tf.where(scores > thresholds, 1.0, tf.where(scores == thresholds, float(_EQUAL), 0.0))


def _sum_codes_in_sets(
    scores: tf.Tensor, masks: tf.Tensor, slots: tf.Tensor, thresholds: tf.Tensor
) -> tuple[tf.Tensor]:
    """Returns the sums `[1 + num_sets, k]` int32 over the entities of the tile in each set."""
    return (sum_members(_encode(scores, thresholds), masks, slots),)


@tf.function(jit_compile=True, reduce_retracing=True)
def _sum_codes(scores: tf.Tensor, thresholds: tf.Tensor) -> tuple[tf.Tensor]:
    """Returns the sums `[1, k]` int32 over all entities of the tile."""
    codes = tf.reduce_sum(_encode(scores, thresholds), axis=0, keepdims=True)
    return (tf.cast(codes, tf.int32),)
