"""Filtered ranks: how many candidates score better than the true answer.

A rank is 1 + the number of competitors with a better score. The other known answers of a query do
not compete; they are looked up in a sorted index, so the filter costs as much as there are known
answers and never a dense `[batch, num_entities]` mask. Equal scores are counted separately: how
they count is a policy (`ranks_from_counts`), not an accident of the comparison.

Scores that are not finite raise an error: every comparison with NaN is false, so a broken model
would get perfect ranks.
"""

import numpy as np
import tensorflow as tf

from quatre_tf.ranking.entity_lists import RankTargets
from quatre_tf.ranking.tiles import ENTITY_TILE, QUERY_TILE, candidate_table, count_better
from quatre_tf.similarities import DOT, Similarity
from quatre_tf.validation import check_choice, check_positive

TIE_POLICIES = ("optimistic", "realistic", "pessimistic")


def ranks_from_counts(
    better: tf.Tensor, equal: tf.Tensor, tie_policy: str = "realistic"
) -> tf.Tensor:
    """Returns ranks `[batch]` float64 from the counts of `rank_queries`.

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


def rank_queries(
    queries: tf.Tensor,
    table: tf.Tensor,
    targets: tf.Tensor,
    known: tf.RaggedTensor | None = None,
    similarity: Similarity = DOT,
    query_tile: int = QUERY_TILE,
    entity_tile: int = ENTITY_TILE,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Counts the competitors of any number of queries, in the memory of a tile.

    The target never counts, whether or not it is among `known`. For constrained candidate sets see
    `quatre_tf.ranking.tiles.count_better`.

    Args:
        queries: `[batch, width]`, e.g. of `KGEModel.tail_queries`.
        table: `[num_entities, width]`, the entities. A tensor, or a variable that is read once.
        targets: `[batch]`, the true answers.
        known: `[batch, None]`, distinct ids of answers that do not compete; None: all compete.
        similarity: Scores queries and entities.
        query_tile: Queries scored at once.
        entity_tile: Entities scored at once, at most 4095.

    Returns:
        `(better, equal)`, both `[batch]` int32: competitors with a better and with the same score.

    Raises:
        TypeError: The table is not float32.
        ValueError: A tile is not a positive integer, or larger than it may be.
        tf.errors.InvalidArgumentError: A score is NaN or infinite, or an id is out of range.

    Example:
        >>> queries, table = tf.constant([[1.0]]), tf.constant([[0.9], [0.5], [0.7], [0.5]])
        >>> counts = rank_queries(queries, table, [1], known=tf.ragged.constant([[0, 1]]))
        >>> ranks_from_counts(*counts).numpy()
        array([2.5])
    """
    check_positive("query_tile", query_tile)
    queries, table = tf.convert_to_tensor(queries), tf.convert_to_tensor(table)
    targets = tf.cast(targets, tf.int64)
    # To `count_better` it would be no target at all.
    tf.debugging.assert_non_negative(targets, "`targets` has an entity id below 0.")
    keys = _list_keys(known, table.shape[0])
    nothing = tf.zeros([0], tf.int64), tf.zeros([0, query_tile], tf.int64)
    entities = candidate_table(table)
    counts = [np.zeros([2, 0], np.int32)]
    for start in range(0, len(queries), query_tile):
        rows = np.arange(start, min(start + query_tile, len(queries)))
        no_sets = nothing[0], nothing[1][:, : len(rows)]
        rank_targets = RankTargets(tf.gather(targets, [rows]), keys, tf.constant(rows), *no_sets)
        better, equal = count_better(
            tf.gather(queries, rows), entities, rank_targets, similarity, entity_tile
        )
        counts.append(tf.concat([better[0], equal[0]], axis=0).numpy())
    better, equal = tf.unstack(tf.constant(np.concatenate(counts, axis=1)))
    return better, equal


def _list_keys(known: tf.RaggedTensor | None, num_entities: int) -> tf.Tensor:
    """Returns the keys `row * num_entities + entity` of `count_better`, ascending."""
    if known is None:
        return tf.zeros([0], tf.int64)
    ids = tf.cast(known.flat_values, tf.int64)
    # Beyond them it would be the key of another row.
    bounds = tf.constant([0, num_entities], tf.int64)
    tf.debugging.assert_greater_equal(ids, bounds[0], "`known` has an entity id below 0.")
    tf.debugging.assert_less(ids, bounds[1], "`known` has an entity id beyond the table.")
    return tf.sort(tf.cast(known.value_rowids(), tf.int64) * num_entities + ids)
