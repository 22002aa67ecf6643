"""Filtered ranks: how many candidates score better than the true answer.

A rank is 1 + the number of competitors with a better score. The other known answers of a query are
no competitors; they are counted from a CSR index and subtracted, so the filter costs as much as
there are known answers and never a dense `[batch, num_entities]` mask. Equal scores are counted
apart: what they are worth is a policy (`ranks_from_counts`), not an accident of the comparison.

Scores that are not finite raise an error: every comparison with NaN is false, so a broken model
would get perfect ranks.
"""

import tensorflow as tf

from quatre_tf.validation import check_choice, check_positive

TIE_POLICIES = ("optimistic", "realistic", "pessimistic")

# The size of one tile of scores; its comparisons need about 1.5 times as much again.
_TILE_BYTES = 64 * 2**20
# The rounding of a row of a matrix product depends on the number of rows. On x86 CPUs it was found
# to be the same for 16 to 512 rows and to differ outside, so the tiling does not show in the ranks.
_ROW_MULTIPLE = 16
_MAX_ROWS = 512


def lookup_known(
    keys: tf.Tensor, row_splits: tf.Tensor, values: tf.Tensor, query_keys: tf.Tensor
) -> tf.RaggedTensor:
    """Returns the known answers of queries from a CSR index.

    Args:
        keys: `[groups]` int64, ascending and distinct; a key is `relation * num_entities + entity`.
        row_splits: `[groups + 1]` int64: the answers of `keys[g]` are
            `values[row_splits[g]:row_splits[g + 1]]`.
        values: `[known]` entity ids.
        query_keys: `[batch]` int64.

    Returns:
        `[batch, None]` in the dtype of `values`; the row of a key that is not there is empty.
    """
    # The insertion points of key and key + 1 are a group's bounds, and equal for an absent key.
    positions = tf.searchsorted(keys, tf.concat([query_keys, query_keys + 1], axis=0))
    starts, limits = tf.split(tf.gather(row_splits, positions), 2)
    indices = tf.ragged.range(starts, limits)
    return indices.with_flat_values(tf.gather(values, indices.flat_values))


def count_competitors(
    scores: tf.Tensor, targets: tf.Tensor, known: tf.RaggedTensor | None = None
) -> tuple[tf.Tensor, tf.Tensor]:
    """Counts the candidates that score better than the target, and those that score the same.

    The target's score is read from `scores`, so rounding can neither make nor hide a tie. The
    target never counts, whether or not it is among `known`.

    Args:
        scores: `[batch, num_entities]`, higher is more plausible.
        targets: `[batch]`, the true answers.
        known: `[batch, None]`, distinct ids of answers that do not compete; None: all compete.

    Returns:
        `(better, equal)`, both `[batch]` int32.

    Raises:
        tf.errors.InvalidArgumentError: A score is NaN or infinite, or an id is out of range.
    """
    _assert_finite(scores)
    target_scores = tf.gather(scores, targets, batch_dims=1)
    better = _count(scores > target_scores[:, tf.newaxis])
    equal = _count(scores == target_scores[:, tf.newaxis]) - 1
    if known is None:
        return better, equal
    known_better, known_equal = _count_listed(scores, targets, target_scores, known)
    return better - known_better, equal - known_equal


def ranks_from_counts(
    better: tf.Tensor, equal: tf.Tensor, tie_policy: str = "realistic"
) -> tf.Tensor:
    """Returns ranks `[batch]` float64 from the counts of `count_competitors`.

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


def filtered_ranks(
    scores: tf.Tensor,
    targets: tf.Tensor,
    known: tf.RaggedTensor | None = None,
    tie_policy: str = "realistic",
) -> tf.Tensor:
    """Returns ranks `[batch]` float64: `ranks_from_counts` of `count_competitors`.

    Example:
        >>> scores = tf.constant([[0.9, 0.5, 0.7, 0.5]])
        >>> filtered_ranks(scores, [1], known=tf.ragged.constant([[0, 1]])).numpy()
        array([2.5])
    """
    return ranks_from_counts(*count_competitors(scores, targets, known), tie_policy)


def rank_queries(
    queries: tf.Tensor,
    table: tf.Tensor,
    targets: tf.Tensor,
    known: tf.RaggedTensor | None = None,
    query_tile: int | None = None,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Counts the competitors of any number of queries, tile by tile in bounded memory.

    Memory: one transposed copy of the table, and per tile about 2.5 times its scores.

    Args:
        queries: `[batch, width]`, e.g. of `QuatRE.tail_queries`.
        table: `[num_entities, width]`: its dot products with a query are the query's scores. A
            tensor, or a variable that is read once.
        targets: `[batch]`, the true answers.
        known: `[batch, None]`, distinct ids of answers that do not compete; None: all compete.
        query_tile: Queries scored at once; None: as many as make about 64 MB of scores.

    Returns:
        `(better, equal)` as of `count_competitors`, both `[batch]` int32.

    Raises:
        ValueError: `query_tile` is not a positive integer.
        tf.errors.InvalidArgumentError: A score is NaN or infinite, or an id is out of range.
    """
    table = tf.convert_to_tensor(table)
    tile = default_query_tile(table.shape[0]) if query_tile is None else query_tile
    check_positive("query_tile", tile)
    return _rank_tiles(
        tf.convert_to_tensor(queries), table, tf.convert_to_tensor(targets), known, tile
    )


def candidate_scores(
    queries: tf.Tensor, table: tf.Tensor, table_transposed: bool = False
) -> tf.Tensor:
    """Returns the scores `[batch, num_entities]` that ranks are taken from.

    They do not depend on how queries are batched, up to 512 of them (see `_ROW_MULTIPLE`): one
    query alone gets the rank that it has in the evaluation of a whole split.

    Args:
        queries: `[batch, width]`.
        table: `[num_entities, width]`, or `[width, num_entities]` if `table_transposed`.
        table_transposed: Whether the rows of `table` are its dimensions.
    """
    rows = tf.shape(queries)[0]
    padded = tf.pad(queries, [[0, -rows % _ROW_MULTIPLE], [0, 0]])
    # Leading rows of a tensor are a view on it, so this slice copies nothing.
    return tf.linalg.matmul(padded, table, transpose_b=not table_transposed)[:rows]


def default_query_tile(num_entities: int) -> int:
    """Returns how many queries make one tile of about 64 MB of float32 scores."""
    rows = _TILE_BYTES // (4 * num_entities) // _ROW_MULTIPLE * _ROW_MULTIPLE
    return min(max(rows, _ROW_MULTIPLE), _MAX_ROWS)


@tf.function(reduce_retracing=True)
def _rank_tiles(
    queries: tf.Tensor,
    table: tf.Tensor,
    targets: tf.Tensor,
    known: tf.RaggedTensor | None,
    tile: int,
) -> tuple[tf.Tensor, tf.Tensor]:
    # Transposed once: a product with `transpose_b` does it again for every tile, which costs as
    # much as 140 rows of the product.
    columns = tf.transpose(table)
    total = tf.shape(queries)[0]
    num_tiles = (total + tile - 1) // tile
    counts = tf.TensorArray(tf.int32, num_tiles, infer_shape=False, element_shape=[None, 2])
    for index in tf.range(num_tiles):
        # One tile after the other: each uses all cores, and two would need twice the memory.
        tf.autograph.experimental.set_loop_options(parallel_iterations=1)
        rows = slice(index * tile, tf.minimum((index + 1) * tile, total))
        scores = candidate_scores(queries[rows], columns, table_transposed=True)
        competitors = count_competitors(
            scores, targets[rows], None if known is None else known[rows]
        )
        counts = counts.write(index, tf.stack(competitors, axis=1))
    better, equal = tf.unstack(counts.concat(), axis=1)
    return better, equal


def _count(flags: tf.Tensor) -> tf.Tensor:
    """Returns `[batch]` int32: the number of true elements of each row."""
    # A third quicker than tf.math.count_nonzero, which counts in int64.
    return tf.reduce_sum(tf.cast(flags, tf.int32), axis=1)


def _count_listed(
    scores: tf.Tensor, targets: tf.Tensor, target_scores: tf.Tensor, listed: tf.RaggedTensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Counts as `count_competitors`, among the listed candidates `[batch, None]` only."""
    rows, ids = listed.value_rowids(), tf.cast(listed.flat_values, tf.int64)
    listed_scores = tf.gather_nd(scores, tf.stack([tf.cast(rows, tf.int64), ids], axis=1))
    thresholds = tf.gather(target_scores, rows)
    better = listed_scores > thresholds
    equal = (listed_scores == thresholds) & (ids != tf.gather(tf.cast(targets, tf.int64), rows))
    flags = tf.cast(tf.stack([better, equal], axis=1), tf.int32)
    better, equal = tf.unstack(
        tf.math.unsorted_segment_sum(flags, rows, tf.shape(scores)[0]), axis=1
    )
    return better, equal


def _assert_finite(scores: tf.Tensor) -> None:
    # A NaN or an infinity survives in the sum of its row, which is far cheaper than a look at each
    # score. The close look follows only then, because a sum of finite scores can overflow too.
    suspicious = ~tf.reduce_all(tf.math.is_finite(tf.reduce_sum(scores, axis=1)))
    finite = tf.cond(
        suspicious, lambda: tf.reduce_all(tf.math.is_finite(scores)), lambda: tf.constant(True)
    )
    tf.debugging.Assert(
        finite, ["Scores hold NaN or infinite values; a rank among them would mean nothing."]
    )
