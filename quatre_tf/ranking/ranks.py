"""Filtered ranks: how many candidates score better than the true answer.

A rank is 1 + the number of competitors with a better score. The other known answers of a query are
no competitors; they are counted from a CSR index and subtracted, so the filter costs as much as
there are known answers and never a dense `[batch, num_entities]` mask. Equal scores are counted
apart: what they are worth is a policy (`ranks_from_counts`), not an accident of the comparison.

Scores that are not finite raise an error: every comparison with NaN is false, so a broken model
would get perfect ranks.
"""

import numpy as np
import tensorflow as tf

from quatre_tf.ranking.entity_lists import Asked
from quatre_tf.ranking.table import ROW_MULTIPLE, RankingTable, ranking_table, screening_pays
from quatre_tf.ranking.tiles import (
    ENTITY_TILE,
    QUERY_TILE,
    assert_finite,
    count_tile,
)
from quatre_tf.validation import check_choice, check_positive

TIE_POLICIES = ("optimistic", "realistic", "pessimistic")


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
        TypeError: The scores are of less than float32's precision.
        tf.errors.InvalidArgumentError: A score is NaN or infinite, or an id is out of range.
    """
    scores = tf.convert_to_tensor(scores)
    if scores.dtype not in (tf.float32, tf.float64):
        raise TypeError(f"Ranks are taken from float32 scores. Received: {scores.dtype.name}.")
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
    query_tile: int = QUERY_TILE,
    entity_tile: int = ENTITY_TILE,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Counts the competitors of any number of queries, tile by tile.

    The memory is that of the tiles, and half of the table's for many queries on a processor that
    is quick in bfloat16 (`quatre_tf.ranking.table.screening_pays`).

    For constrained candidates beside all of them see `quatre_tf.ranking.tiles.count_tile`.

    Args:
        queries: `[batch, width]`, e.g. of `QuatRE.tail_queries`.
        table: `[num_entities, width]`: its dot products with a query are the query's scores. A
            tensor, or a variable that is read once.
        targets: `[batch]`, the true answers.
        known: `[batch, None]`, distinct ids of answers that do not compete; None: all compete.
        query_tile: Queries scored at once.
        entity_tile: Entities scored at once, at most 4095.

    Returns:
        `(better, equal)` as of `count_competitors`, both `[batch]` int32.

    Raises:
        ValueError: A tile is not a positive integer, or larger than it may be.
        tf.errors.InvalidArgumentError: A score is NaN or infinite, or an id is out of range.
    """
    check_positive("query_tile", query_tile)
    queries, table = tf.convert_to_tensor(queries), tf.convert_to_tensor(table)
    targets = tf.cast(targets, tf.int64)
    # To `count_tile` it would be no target at all.
    tf.debugging.assert_non_negative(targets, "`targets` has an entity id below 0.")
    keys = _list_keys(known, table.shape[0])
    nothing = tf.zeros([0], tf.int64), tf.zeros([0, query_tile], tf.int64)
    # What is not float32 is refused by `count_tile`.
    screened = table.dtype == tf.float32 and screening_pays(
        table.shape[0], table.shape[1], len(queries)
    )
    entities = ranking_table(table, screened)

    def count(entities: RankingTable, rows: np.ndarray) -> np.ndarray:
        counts = [np.zeros([2, 0], np.int32)]
        for start in range(0, len(rows), query_tile):
            part = rows[start : start + query_tile]
            no_sets = nothing[0], nothing[1][:, : len(part)]
            asked = Asked(tf.gather(targets, [part]), keys, tf.constant(part), *no_sets)
            better, equal = count_tile(tf.gather(queries, part), entities, asked, entity_tile)
            counts.append(tf.concat([better[0], equal[0]], axis=0).numpy())
        return np.concatenate(counts, axis=1)

    counts = count(entities, np.arange(len(queries)))
    rest = np.flatnonzero(counts[0] < 0)
    counts[:, rest] = count(entities.exact, rest)
    better, equal = tf.unstack(tf.constant(counts))
    return better, equal


def _list_keys(known: tf.RaggedTensor | None, num_entities: int) -> tf.Tensor:
    """Returns the keys `row * num_entities + entity` of `count_tile`, ascending."""
    if known is None:
        return tf.zeros([0], tf.int64)
    ids = tf.cast(known.flat_values, tf.int64)
    # Beyond them it would be the key of another row.
    bounds = tf.constant([0, num_entities], tf.int64)
    tf.debugging.assert_greater_equal(ids, bounds[0], "`known` has an entity id below 0.")
    tf.debugging.assert_less(ids, bounds[1], "`known` has an entity id beyond the table.")
    return tf.sort(tf.cast(known.value_rowids(), tf.int64) * num_entities + ids)


def candidate_scores(queries: tf.Tensor, table: tf.Tensor) -> tf.Tensor:
    """Returns the scores `[batch, num_entities]` of a few queries.

    They are rounded as in the tiles of an evaluation (see `ROW_MULTIPLE`): one query alone gets
    the rank that it has among a whole split.

    Args:
        queries: `[batch, width]`.
        table: `[num_entities, width]`.
    """
    rows = tf.shape(queries)[0]
    padded = tf.pad(queries, [[0, -rows % ROW_MULTIPLE], [0, 0]])
    # Queries, not the table, are transposed: the table is by far the larger one.
    return tf.transpose(tf.linalg.matmul(table, tf.transpose(padded)))[:rows]


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
    if not tf.reduce_all(tf.math.is_finite(tf.reduce_sum(scores, axis=1))):
        assert_finite(scores)
