"""Counts the competitors of queries in one pass over their scores, tile by tile.

A tile of scores is the product of `ENTITY_TILE` rows of the entity table with `QUERY_TILE` queries.
It is counted while it is still in the processor's cache, and never written out:

1. each score becomes a code: 1 if it is better than the target's, 4096 if equal, 0 if worse;
2. the codes of the target and of the known answers become 0: they do not compete;
3. the product of 0/1 masks, one a set of candidates, with the codes counts all sets at once.
   `better + 4096 * equal` of a tile of at most 4095 entities stays below 2^24, so float32 is exact.

The rounding of a matrix product may depend on its shape. The tiles have the same shapes whatever
memory there is, and this alone makes ranks the same bit for bit.

The target's score decides every comparison, so it has to have the rounding that it has in its tile.
It is guessed first, by a small product, then compared with what the tiles hold. The guess was right
on every machine tried; were it wrong, the tiles are counted again with the scores found in them.

Alternatives that were measured and dropped: a product of queries with the transposed table (needs a
copy of the table); separate matrices of "better" and "equal" (twice the work); comparisons without
XLA (4 % of the product more); gathering the scores of constrained candidates (a random read for
each, where the mask product streams).
"""

import tensorflow as tf

# Found by measurement: smaller tiles pay for more operations, larger ones leave the cache.
ENTITY_TILE = 3072
QUERY_TILE = 512
# On x86 CPUs a product with any number of queries from 16 on was found to be rounded alike, and one
# with fewer otherwise: so a query alone gets the rank that it has among others.
ROW_MULTIPLE = 16
# The weight of an equal score in a code. A tile of `_EQUAL - 1` entities is the largest that fits.
_EQUAL = 4096
# Far below the largest float32, 3.4e38: room for the rounding of the bound itself.
_SAFE_SCORE = 1e37
_MAX_SWEEPS = 3


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


def table_norm(table: tf.Tensor) -> tf.Tensor:
    """Returns a number no smaller than the norm of any row; not finite if an element is not.

    It is the norm of the whole table: one pass, and no copy of it.
    """
    return tf.sqrt(2.0 * tf.cast(tf.nn.l2_loss(table), tf.float64))


@tf.function(reduce_retracing=True)
def count_tile(
    queries: tf.Tensor,
    table: tf.Tensor,
    norm: tf.Tensor,
    targets: tf.Tensor,
    known_keys: tf.Tensor,
    known_lists: tf.Tensor,
    set_keys: tf.Tensor,
    set_lists: tf.Tensor,
    entity_tile: int = ENTITY_TILE,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Counts competitors among all entities, and among those of further candidate sets.

    Entities are listed by ascending int64 keys `list * num_entities + entity`: the known answers
    of queries, and the members of candidate sets. A query names its list; -1 names an empty one.

    Args:
        queries: `[batch, width]` float32; at most `QUERY_TILE` are meant.
        table: `[num_entities, width]` float32.
        norm: `table_norm(table)`.
        targets: `[batch]` int64, the true answers: ranked whether or not a set has them.
        known_keys: `[known]` int64: lists of answers that do not compete.
        known_lists: `[batch]` int64.
        set_keys: `[members]` int64: lists of candidates.
        set_lists: `[num_sets, batch]` int64: for each further set the candidates of a query.
        entity_tile: Entities scored at once, at most 4095.

    Returns:
        `(better, equal)`, both `[1 + num_sets, batch]` int32, all entities first.

    Raises:
        TypeError: Queries or table are not float32.
        tf.errors.InvalidArgumentError: A score is NaN or infinite, or an id is out of range.
    """
    if (queries.dtype, table.dtype) != (tf.float32, tf.float32):
        raise TypeError(
            "Ranks are taken from float32 scores. "
            f"Received: {queries.dtype.name} queries, {table.dtype.name} table."
        )
    batch = tf.shape(queries)[0]
    missing = [[0, -batch % ROW_MULTIPLE]]
    columns = tf.transpose(tf.pad(queries, [*missing, [0, 0]]))
    targets = tf.pad(targets, missing)
    known = (known_keys, tf.pad(known_lists, missing, constant_values=-1))
    sets = (set_keys, tf.pad(set_lists, [[0, 0], *missing], constant_values=-1))
    # By Cauchy and Schwarz no score, and no partial sum of one, is larger than this.
    bound = norm * tf.sqrt(2.0 * tf.cast(tf.nn.l2_loss(queries), tf.float64))
    thresholds = guess_target_scores(table, columns, targets)
    better, equal, found = _sweep(
        table, columns, targets, thresholds, known, sets, bound < _SAFE_SCORE, entity_tile
    )
    sweeps = tf.constant(1)
    while tf.reduce_any(found != thresholds):
        tf.debugging.assert_less(sweeps, _MAX_SWEEPS, "Matrix products are not reproducible here.")
        thresholds = found
        better, equal, found = _sweep(
            table, columns, targets, thresholds, known, sets, bound < _SAFE_SCORE, entity_tile
        )
        sweeps += 1
    return better[:, :batch], equal[:, :batch]


def guess_target_scores(table: tf.Tensor, columns: tf.Tensor, targets: tf.Tensor) -> tf.Tensor:
    """Returns the scores `[batch]` of the targets, rounded as they are in a tile, most probably."""
    # A product of as many rows as a tile has queries: one row alone would be rounded otherwise.
    return tf.linalg.diag_part(tf.linalg.matmul(tf.gather(table, targets), columns))


def assert_finite(scores: tf.Tensor) -> None:
    """Raises InvalidArgumentError if a score is NaN or infinite."""
    tf.debugging.Assert(
        tf.reduce_all(tf.math.is_finite(scores)),
        ["Scores hold NaN or infinite values; a rank among them would mean nothing."],
    )


def _sweep(
    table: tf.Tensor,
    columns: tf.Tensor,
    targets: tf.Tensor,
    thresholds: tf.Tensor,
    known: tuple[tf.Tensor, tf.Tensor],
    sets: tuple[tf.Tensor, tf.Tensor],
    finite: tf.Tensor,
    entity_tile: int,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Returns `(better, equal, target scores)` of one pass over all entities."""
    num_entities = tf.shape(table, tf.int64)[0]
    lists, slots = _distinct_lists(sets[1])
    better = equal = tf.zeros_like(slots)
    found = thresholds
    for start in tf.range(0, num_entities, entity_tile):
        # One tile after the other: each uses all cores, and two would leave the cache.
        tf.autograph.experimental.set_loop_options(parallel_iterations=1)
        tile = (start, tf.minimum(start + entity_tile, num_entities), num_entities)
        # Leading rows of a tensor are a view on it: nothing is copied.
        scores = tf.linalg.matmul(table[start : tile[1]], columns)
        if not finite:
            assert_finite(scores)
        places, rows = _targets_inside(targets, tile)
        at_targets = tf.stack([places, rows], axis=1)
        found = tf.tensor_scatter_nd_update(
            found, rows[:, tf.newaxis], tf.gather_nd(scores, at_targets)
        )
        left_out = tf.concat([at_targets, _members(*known, tile)], axis=0)
        codes = tf.tensor_scatter_nd_update(
            _encode(scores, thresholds), left_out, tf.zeros(tf.shape(left_out)[:1])
        )
        sums = tf.linalg.matmul(_masks(sets[0], lists, tile), codes)
        sums = tf.cast(_pick(sums, slots), tf.int32)
        better += sums % _EQUAL
        equal += sums // _EQUAL
    return better, equal, found


@tf.function(jit_compile=True)
def _encode(scores: tf.Tensor, thresholds: tf.Tensor) -> tf.Tensor:
    return tf.where(scores > thresholds, 1.0, tf.where(scores == thresholds, float(_EQUAL), 0.0))


def _distinct_lists(lists: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the distinct lists `[k]`, and the row of each (set, query) in their masks.

    The rows are `[1 + num_sets, batch]` int32; row 0 of the masks has all entities.
    """
    distinct, slots = tf.unique(tf.reshape(lists, [-1]))
    slots = tf.pad(tf.reshape(slots, tf.shape(lists)) + 1, [[1, 0], [0, 0]])
    return distinct, slots


def _targets_inside(
    targets: tf.Tensor, tile: tuple[tf.Tensor, tf.Tensor, tf.Tensor]
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns places in the tile and queries of the targets that lie in it, both int64."""
    rows = tf.reshape(tf.where((targets >= tile[0]) & (targets < tile[1])), [-1])
    return tf.gather(targets, rows) - tile[0], rows


def _members(
    keys: tf.Tensor, lists: tf.Tensor, tile: tuple[tf.Tensor, tf.Tensor, tf.Tensor]
) -> tf.Tensor:
    """Returns `[found, 2]` int64: the members in the tile as (place in it, index in `lists`)."""
    start, limit, num_entities = tile
    first = lists * num_entities
    bounds = tf.searchsorted(keys, tf.concat([first + start, first + limit], axis=0))
    indices = tf.ragged.range(*tf.split(bounds, 2))
    rows = indices.value_rowids()
    places = tf.gather(keys, indices.flat_values) - tf.gather(first, rows) - start
    return tf.stack([places, tf.cast(rows, tf.int64)], axis=1)


def _masks(
    keys: tf.Tensor, lists: tf.Tensor, tile: tuple[tf.Tensor, tf.Tensor, tf.Tensor]
) -> tf.Tensor:
    """Returns `[1 + k, entities of the tile]` of 0 and 1: all entities, then the lists."""
    size = tile[1] - tile[0]
    members = tf.reverse(_members(keys, lists, tile), axis=[1])
    shape = tf.stack([tf.size(lists, tf.int64), size])
    listed = tf.scatter_nd(members, tf.ones(tf.shape(members)[:1]), shape)
    return tf.concat([tf.ones(tf.stack([1, size])), listed], axis=0)


def _pick(sums: tf.Tensor, slots: tf.Tensor) -> tf.Tensor:
    """Returns `[1 + num_sets, batch]`: for each query the rows of `sums` that are its own."""
    return tf.transpose(tf.gather(tf.transpose(sums), tf.transpose(slots), batch_dims=1))
