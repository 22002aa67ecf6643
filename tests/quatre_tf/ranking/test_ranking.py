import platform

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from quatre_tf.ranking import ranks as ranking
from quatre_tf.ranking.tiles import top_k
from quatre_tf.similarities import DOT

# One query a row, five candidates; the target is written with its score in the comment.
SCORES = [
    [0.9, 0.5, 0.7, 0.5, 0.1],  # target 1 (0.5): 0 and 2 are better, 3 is equal
    [0.5, 0.5, 0.5, 0.5, 0.5],  # target 4 (0.5): all equal
    [0.1, 0.2, 0.3, 0.4, 0.5],  # target 0 (0.1): all better
    [0.1, 0.2, 0.3, 0.4, 0.5],  # target 4 (0.5): the best
]
TARGETS = [1, 4, 0, 4]


def naive_counts(scores, targets, known):
    """Candidate by candidate, as a person would count."""
    better, equal = [], []
    for row, target, left_out in zip(scores, targets, known, strict=True):
        competitors = [s for e, s in enumerate(row) if e != target and e not in left_out]
        better.append(sum(s > row[target] for s in competitors))
        equal.append(sum(s == row[target] for s in competitors))
    return better, equal


def ragged(rows):
    return tf.ragged.constant(rows, dtype=tf.int32, ragged_rank=1)


def assert_counts(counts, better, equal):
    np.testing.assert_array_equal(counts[0], better)
    np.testing.assert_array_equal(counts[1], equal)


def count(scores, targets, known=None):
    """One-hot queries against the transposed scores have exactly these scores."""
    queries = np.eye(len(scores), dtype=np.float32)
    return ranking.rank_queries(queries, np.float32(scores).T, targets, known)


@pytest.mark.parametrize(
    ("known", "better", "equal"),
    [
        (None, [2, 0, 4, 0], [1, 4, 0, 0]),
        # Empty filters.
        ([[], [], [], []], [2, 0, 4, 0], [1, 4, 0, 0]),
        # The target among the known, and not.
        ([[0, 1], [4, 0, 1], [0, 3], [4]], [1, 0, 3, 0], [1, 2, 0, 0]),
        ([[0], [0, 1], [3], [0]], [1, 0, 3, 0], [1, 2, 0, 0]),
        # An equal one is known; a worse one is known and changes nothing.
        ([[3], [0], [], [0]], [2, 0, 4, 0], [0, 3, 0, 0]),
        # Everything is known.
        ([[0, 1, 2, 3, 4]] * 4, [0, 0, 0, 0], [0, 0, 0, 0]),
        ([[0, 2, 3, 4], [0, 1, 2, 3], [1, 2, 3, 4], [0, 1, 2, 3]], [0] * 4, [0] * 4),
    ],
)
def test_counts(known, better, equal):
    known = None if known is None else ragged(known)
    counts = count(SCORES, TARGETS, known)
    assert_counts(counts, better, equal)


@pytest.mark.parametrize(
    ("tie_policy", "expected"),
    [
        ("optimistic", [3, 1, 5, 1]),
        ("realistic", [3.5, 3, 5, 1]),
        ("pessimistic", [4, 5, 5, 1]),
    ],
)
def test_tie_policies(tie_policy, expected):
    ranks = ranking.ranks_from_counts(*count(SCORES, TARGETS), tie_policy)
    np.testing.assert_array_equal(ranks, expected)


def test_ranks_are_exact_for_any_number_of_entities():
    (rank,) = ranking.ranks_from_counts(tf.constant([2**30]), tf.constant([1])).numpy()
    assert rank == 2**30 + 1.5


def test_unknown_tie_policy_is_named():
    with pytest.raises(ValueError, match=r"`tie_policy` must be one of .*realistic.*'random'"):
        ranking.ranks_from_counts([0], [0], "random")


@st.composite
def rankings(draw):
    """Few distinct scores, so that ties are the rule; known sets from empty to all."""
    num_entities = draw(st.sampled_from([1, 4, 8]))
    batch = draw(st.integers(0, 6))
    entity = st.integers(0, num_entities - 1)
    row = st.lists(st.integers(-1, 1), min_size=num_entities, max_size=num_entities)
    known = st.lists(entity, unique=True)
    return (
        np.array(draw(st.lists(row, min_size=batch, max_size=batch)), np.float32).reshape(
            batch, num_entities
        ),
        np.array(draw(st.lists(entity, min_size=batch, max_size=batch)), np.int32),
        draw(st.lists(known, min_size=batch, max_size=batch)),
        draw(st.sampled_from([4, 512])),
    )


@given(rankings())
@settings(max_examples=40, deadline=None)
def test_counts_equal_a_naive_ranking(case):
    scores, targets, known, tile = case
    expected = naive_counts(scores, targets, known)
    queries = np.eye(len(scores), dtype=np.float32)
    counts = ranking.rank_queries(queries, scores.T, targets, ragged(known), query_tile=tile)
    assert_counts(counts, *expected)


@pytest.fixture
def queries(rng):
    """Small integers: products are exact and ties are many."""
    return rng.integers(-2, 3, [70, 8]).astype(np.float32)


@pytest.fixture
def table(rng):
    return rng.integers(-2, 3, [30, 8]).astype(np.float32)


@pytest.mark.parametrize("query_tile", [1, 7, 70, 512])
@pytest.mark.parametrize("entity_tile", [8, 3072])
@pytest.mark.parametrize("filtered", [False, True])
def test_rank_queries(rng, queries, table, query_tile, entity_tile, filtered):
    targets = rng.integers(0, 30, 70)
    known = [rng.choice(30, size, replace=False).tolist() for size in rng.integers(0, 30, 70)]
    counts = ranking.rank_queries(
        queries,
        tf.Variable(table),
        targets,
        ragged(known) if filtered else None,
        query_tile=query_tile,
        entity_tile=entity_tile,
    )
    expected = naive_counts(queries @ table.T, targets, known if filtered else [[]] * 70)
    assert_counts(counts, *expected)


def test_rank_no_queries(table):
    counts = ranking.rank_queries(tf.zeros([0, 8]), table, tf.zeros([0], tf.int32), ragged([]))
    assert_counts(counts, [], [])


def test_a_bad_entity_row_is_an_error_in_every_tile(queries, table):
    table[3, 2] = np.nan
    with pytest.raises(tf.errors.InvalidArgumentError, match="NaN or infinite"):
        ranking.rank_queries(queries, table, np.zeros(70, np.int32), query_tile=16)


@pytest.mark.parametrize(
    ("tile", "value"),
    [("query_tile", 0), ("query_tile", -1), ("query_tile", 2.0), ("entity_tile", 0)],
)
def test_tiles_are_checked(queries, table, tile, value):
    with pytest.raises(ValueError, match=f"`{tile}` must be a positive integer"):
        ranking.rank_queries(queries, table, np.zeros(70, np.int32), **{tile: value})


def test_a_tile_is_as_large_as_its_codes_allow(rng):
    table = rng.integers(0, 2, [6000, 8]).astype(np.float32)
    query, target = np.ones([1, 8], np.float32), np.array([17])
    expected = naive_counts(query @ table.T, target, [[]])
    assert_counts(ranking.rank_queries(query, table, target, entity_tile=4095), *expected)
    with pytest.raises(
        ValueError, match="`entity_tile` must be a positive integer of at most 4095"
    ):
        ranking.rank_queries(query, table, target, entity_tile=4096)


@pytest.mark.parametrize("bad", [30, -1])
def test_known_answers_are_ids(queries, table, bad):
    """One beyond the table would stand for a candidate of the next query."""
    known = ragged([[bad], *[[]] * 69])
    with pytest.raises(tf.errors.InvalidArgumentError, match="`known` has an entity id"):
        ranking.rank_queries(queries, table, np.zeros(70, np.int32), known)


@pytest.mark.parametrize("bad", [30, -1])
def test_targets_are_ids(queries, table, bad):
    """One below would pass for no target at all."""
    targets = np.zeros(70, np.int32)
    targets[69] = bad
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"entity id below 0|not in"):
        ranking.rank_queries(queries, table, targets)


def test_known_answers_with_short_row_splits(rng, queries, table):
    known = [rng.choice(30, 3, replace=False).tolist() for _ in queries]
    expected = naive_counts(queries @ table.T, np.zeros(70, np.int32), known)
    narrow = tf.ragged.constant(known, tf.int32, row_splits_dtype=tf.int32)
    assert_counts(ranking.rank_queries(queries, table, np.zeros(70, np.int32), narrow), *expected)


@pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"),
    reason="the row multiple was measured on x86 CPUs only",
)
@pytest.mark.parametrize(("num_entities", "width"), [(135, 32), (5003, 256)])
def test_best_scores_do_not_depend_on_the_batching(rng, num_entities, width):
    table = tf.constant(rng.normal(size=[num_entities, width]), tf.float32)
    queries = tf.constant(rng.normal(size=[500, width]), tf.float32)
    together = top_k(DOT, table, queries, 10)[0]
    for rows in (slice(7, 24), slice(99, 400)):
        np.testing.assert_array_equal(top_k(DOT, table, queries[rows], 10)[0], together[rows])
