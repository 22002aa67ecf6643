"""Filtered ranks: competitors are counted tile by tile, and counts become ranks.

A rank is 1 + the number of competitors with a better score. The other known answers of a query do
not compete; they are looked up in a sorted index, so the filter costs as much as there are known
answers and never a dense `[batch, num_entities]` mask. Equal scores are counted separately, and a
tie policy says how they count. Scores that are not finite raise an error: every comparison with NaN
is false, so a broken model would get perfect ranks. The steps of a tile:

1. The scores of the known answers become minus infinity: they do not compete.
2. Each score becomes a code: 1 if it is better than the target's, 4096 if equal, 0 if worse.
3. The codes are summed; where there are further candidate sets, the product of 0/1 masks, one for
   each set, with the codes counts all sets at once.
   `better + 4096 * equal` of a tile of at most 4095 entities stays below 2^24, so float32 is exact.

A query with several targets is scored once; steps 2 and 3 follow for each of them.

The rounding of a matrix product may depend on its shape. The tiles have the same shapes whatever
memory there is, and this alone makes ranks the same bit for bit.

The target's score decides every comparison, so it must have the rounding that it has in its tile.
It is predicted first, by a small tile, then compared with what the tiles hold. The prediction was
right on every machine tried; were it wrong, the tiles are counted again with the scores found.

Alternatives that were measured and dropped: a product of queries with the transposed table (needs a
copy of the table); separate matrices of "better" and "equal" (twice the work); comparisons without
XLA (4 % of the product more); gathering the scores of constrained candidates (a random read for
each, where the mask product streams).
"""

import functools
from typing import Any

import tensorflow as tf

from quatre_tf.ranking.entity_lists import (
    RankTargets,
    Tile,
    competing_targets,
    distinct_lists,
    leading_widths,
    map_targets,
    mask_members,
    member_masks,
    sum_members,
)
from quatre_tf.ranking.tiles import ROW_MULTIPLE, CandidateTable, any_sizes, scan_tiles
from quatre_tf.sharded_rows import Rows, gather_rows, num_rows
from quatre_tf.similarities import DOT, ROW_BLOCK, Similarity
from quatre_tf.sparse_rows import put_in_place
from quatre_tf.validation import check_choice, check_positive

TIE_POLICIES = ("optimistic", "realistic", "pessimistic")
# Found by measurement: smaller tiles pay for more operations, larger ones leave the cache.
ENTITY_TILE = 3072
QUERY_TILE = 512
# The error about scores that have no ranks holds this.
NOT_FINITE = "NaN or infinite"
# The weight of an equal score in a code, and the largest tile whose codes fit.
_EQUAL = 4096
_LARGEST_TILE = _EQUAL - 1
# Far below the largest float32, 3.4e38: room for the rounding of the bound itself.
_SAFE_SCORE = 1e37
_MAX_SWEEPS = 3
# Entities whose codes are summed at once; found by measurement.
_BLOCK = 8
# More queries than this are filled up to a multiple of it: each number of them is compiled.
_BATCH_MULTIPLE = 64


def ranks_from_counts(
    better: tf.Tensor, equal: tf.Tensor, tie_policy: str = "realistic"
) -> tf.Tensor:
    """Returns ranks `[batch]` float64 from the counts of competitors.

    Args:
        better: `[batch]`, competitors with a better score.
        equal: `[batch]`, competitors with the same score.
        tie_policy: `"optimistic"` puts the target before its equals (rank `1 + better`),
            `"pessimistic"` behind them (`1 + better + equal`), `"realistic"` in their middle
            (`1 + better + equal / 2`, the mean of the two).

    Raises:
        ValueError: The policy is unknown.
    """
    check_choice("tie_policy", tie_policy, TIE_POLICIES)
    share = {"optimistic": 0.0, "realistic": 0.5, "pessimistic": 1.0}[tie_policy]
    return 1.0 + tf.cast(better, tf.float64) + share * tf.cast(equal, tf.float64)


def count_better(
    queries: tf.Tensor,
    table: CandidateTable,
    rank_targets: RankTargets,
    similarity: Similarity = DOT,
    entity_tile: int = ENTITY_TILE,
    portable: bool = False,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Counts competitors among all entities, and in further candidate sets.

    Entities are listed by ascending int64 keys `list * num_entities + entity`: the known answers
    of queries, and the members of candidate sets. A query names its list; -1 names an empty one.
    A target is ranked whether or not a set has it.

    Args:
        queries: `[batch, width]` float32; at most `QUERY_TILE` are meant. Those with more targets
            should come first.
        table: The entities.
        rank_targets: The targets of the queries and what does not compete.
        similarity: Scores entities and queries.
        entity_tile: Entities scored at once, at most 4095.
        portable: As for `scan_tiles`.

    Returns:
        `(better, equal)`, both `[1 + num_sets, depth, batch]` int32, all entities first; without
        meaning where there is no target.

    Raises:
        TypeError: Queries or table are not float32.
        ValueError: `entity_tile` is not a positive integer of at most 4095.
        tf.errors.InvalidArgumentError: A score is NaN or infinite, or an id is out of range.
    """
    if (queries.dtype, table.rows.dtype) != (tf.float32, tf.float32):
        raise TypeError(
            "Ranks are taken from float32 tables. "
            f"Received: {queries.dtype.name} queries, {table.rows.dtype.name} table."
        )
    check_positive("entity_tile", entity_tile, _LARGEST_TILE)
    given = (queries, table, rank_targets)
    if portable:
        return _count(*given, similarity, entity_tile, portable)
    # One trace for all sizes but the width: a process that ranks many models keeps no more.
    specs = tf.nest.map_structure(_spec_of, given)
    options = similarity, entity_tile, portable
    return _compiled_count.get_concrete_function(*specs, *options)(*given, *options)


def _spec_of(tensor: Any) -> Any:
    """Returns a tensor's kind, of any size; the width of rows stays, because loops unroll it."""
    if not tf.is_tensor(tensor):
        return tensor
    is_row = tensor.shape.rank == 2 and tensor.dtype.is_floating
    return tf.TensorSpec(
        [None, tensor.shape[1]] if is_row else [None] * tensor.shape.rank, tensor.dtype
    )


def _count(
    queries: tf.Tensor,
    table: CandidateTable,
    rank_targets: RankTargets,
    similarity: Similarity,
    entity_tile: int,
    portable: bool,
) -> tuple[tf.Tensor, tf.Tensor]:
    batch = tf.shape(queries)[0]
    multiple = tf.where(batch > _BATCH_MULTIPLE, _BATCH_MULTIPLE, ROW_MULTIPLE)
    # At least one: a replica may have no queries, which not every similarity can score.
    missing = [[0, tf.maximum(-(-batch // multiple), 1) * multiple - batch]]
    queries = tf.pad(queries, [*missing, [0, 0]])
    # False: certainly not, as where models are served, whose graph then leaves them out.
    may_have_sets = rank_targets.set_lists.shape[0] != 0
    targets = tf.pad(rank_targets.targets, [[0, 0], *missing], constant_values=-1)
    rank_targets = rank_targets._replace(
        targets=tf.maximum(targets, 0),
        known_lists=tf.pad(rank_targets.known_lists, missing, constant_values=-1),
        set_lists=tf.pad(rank_targets.set_lists, [[0, 0], *missing], constant_values=-1),
    )
    count = functools.partial(
        _sweep,
        similarity,
        table.rows,
        queries,
        rank_targets,
        leading_widths(targets >= 0),
        _is_finite(similarity, table, queries),
        entity_tile,
        may_have_sets,
        portable,
    )
    score = similarity.portable_tile if portable else similarity.tile
    thresholds = tf.map_fn(
        # A tile of as many rows as queries: one row alone would be rounded otherwise.
        lambda targets: tf.linalg.diag_part(score(gather_rows(table.rows, targets), queries)),
        rank_targets.targets,
        fn_output_signature=similarity.dtype,
    )

    def count_once(
        sweeps: tf.Tensor, thresholds: tf.Tensor, *counted: tf.Tensor
    ) -> tuple[tf.Tensor, ...]:
        del thresholds
        reproducible = tf.debugging.assert_less(
            sweeps, _MAX_SWEEPS, "Matrix products are not reproducible here."
        )
        with tf.control_dependencies([reproducible] if reproducible is not None else []):
            found = tf.identity(counted[2])
        return sweeps + 1, found, *count(found)

    # The first sweep is one of the loop: outside it, the graph would hold everything twice.
    num_sets = tf.shape(rank_targets.set_lists)[0]
    nothing = tf.zeros([1 + num_sets, *tf.unstack(tf.shape(thresholds))], tf.int32)
    state = (tf.constant(0), thresholds, nothing, nothing, thresholds)
    _, _, better, equal, _ = tf.while_loop(
        lambda sweeps, thresholds, better, equal, found: (
            (sweeps == 0) | tf.reduce_any(found != thresholds)
        ),
        count_once,
        state,
        shape_invariants=any_sizes(state),
    )
    equal -= competing_targets(rank_targets, num_rows(table.rows))
    return better[..., :batch], equal[..., :batch]


_compiled_count = tf.function(_count, autograph=False)


def _is_finite(similarity: Similarity, table: CandidateTable, queries: tf.Tensor) -> tf.Tensor:
    """Returns whether all scores are finite for certain, without a look at them."""
    if not similarity.finite_by_norms:
        return tf.constant(False)
    norm = tf.sqrt(2.0 * tf.cast(tf.nn.l2_loss(queries), tf.float64))
    # By Cauchy and Schwarz no dot product, no square of a distance and no partial sum is larger.
    return tf.square(table.norm + norm) < _SAFE_SCORE


def _sweep(
    similarity: Similarity,
    rows: Rows,
    queries: tf.Tensor,
    rank_targets: RankTargets,
    widths: tf.Tensor,
    is_finite: tf.Tensor,
    entity_tile: int,
    may_have_sets: bool,
    portable: bool,
    thresholds: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Returns `(better, equal, target scores)` of one pass over all entities."""
    lists, slots = distinct_lists(rank_targets.set_lists)
    counts = tf.zeros([tf.shape(slots)[0], *tf.unstack(tf.shape(thresholds))], tf.int32)
    targets, num_entities = rank_targets.targets, num_rows(rows)
    # Tiles of about one size: little of the last one is filled up.
    num_tiles = tf.maximum(-(-num_entities // entity_tile), 1)
    blocks = -(-num_entities // (num_tiles * ROW_BLOCK))
    tile_size = tf.minimum(blocks * ROW_BLOCK, entity_tile)
    sum_codes = _sum_codes if portable else _sum_codes_of_blocks
    encode = _encode.python_function if portable else _encode
    put = tf.tensor_scatter_nd_update if portable else put_in_place

    def visit(scores: tf.Tensor, tile: Tile, *state: tf.Tensor) -> tuple[tf.Tensor, ...]:
        better, equal, found = state
        checked = tf.cond(is_finite, lambda: True, lambda: _checked(scores))
        here = tf.where((targets >= tile[0]) & (targets < tile[1]))
        places = tf.stack([tf.gather_nd(targets, here) - tile[0], here[:, 1]], axis=1)
        found = tf.tensor_scatter_nd_update(found, here, tf.gather_nd(scores, places))
        with tf.control_dependencies([found, checked]):
            # In the memory of the scores, which nothing else reads any more.
            known = rank_targets.known_keys, rank_targets.known_lists
            scores = mask_members(scores, *known, tile, put)

        def sum_sets(threshold: tf.Tensor) -> tf.Tensor:
            masks = member_masks(rank_targets.set_keys, lists, tile)
            return sum_members(encode(scores, threshold), masks, slots)

        def count_all() -> tf.Tensor:
            return map_targets(functools.partial(sum_codes, scores), thresholds, widths)

        def count_sets() -> tf.Tensor:
            return map_targets(sum_sets, thresholds, widths)

        if may_have_sets:
            has_sets = tf.shape(rank_targets.set_lists)[0] > 0
            sums = tf.cond(has_sets, count_sets, count_all)
        else:
            sums = count_all()
        return better + sums % _EQUAL, equal + sums // _EQUAL, found

    state = counts, counts, thresholds
    better, equal, found = scan_tiles(
        similarity, rows, queries, tile_size, visit, state, portable, fill_up=True
    )
    return better, equal, found


def _checked(scores: tf.Tensor) -> tf.Tensor:
    are_finite = tf.debugging.Assert(
        tf.reduce_all(tf.math.is_finite(scores)),
        [f"Scores hold {NOT_FINITE} values; a rank among them would mean nothing."],
    )
    with tf.control_dependencies([are_finite]):
        return tf.constant(True)


@tf.function(jit_compile=True, reduce_retracing=True, autograph=False)
def _encode(scores: tf.Tensor, thresholds: tf.Tensor) -> tf.Tensor:
    """Returns the codes `[entities, k]` float32 of the first k queries."""
    scores = scores[:, : tf.size(thresholds)]
    return tf.where(scores > thresholds, 1.0, tf.where(scores == thresholds, float(_EQUAL), 0.0))


def _sum_codes(scores: tf.Tensor, thresholds: tf.Tensor) -> tf.Tensor:
    """Returns the sums `[1, k]` int32 of the codes of all entities of the tile."""
    codes = tf.reduce_sum(_encode.python_function(scores, thresholds), axis=0, keepdims=True)
    return tf.cast(codes, tf.int32)


@tf.function(jit_compile=True, reduce_retracing=True, autograph=False)
def _sum_codes_of_blocks(scores: tf.Tensor, thresholds: tf.Tensor) -> tf.Tensor:
    """Returns `_sum_codes`, without writing the codes to memory as XLA does for a whole tile."""
    size = tf.minimum(_BLOCK, tf.shape(scores)[0])
    whole = tf.shape(scores)[0] // size * size

    def add(start: tf.Tensor, sums: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        block = tf.slice(scores, [start, 0], [size, tf.shape(scores)[1]])
        return start + size, sums + _sum_codes(block, thresholds)

    _, sums = tf.while_loop(
        lambda start, _: start < whole, add, (0, _sum_codes(scores[whole:], thresholds))
    )
    return sums
