import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings

from quatre_tf.ranking import ranks as ranking
from quatre_tf.ranking import tiles as tiled_ranking
from tests.quatre_tf.ranking.counting import cases, count, naive


@given(cases())
@settings(max_examples=40, deadline=None)
def test_counts_equal_a_naive_ranking(case):
    queries, table, targets, known, sets, tile = case
    expected = naive(queries @ table.T, targets, known, sets)
    np.testing.assert_array_equal(count(queries, table, targets, known, sets, tile), expected)


def test_counts_of_a_full_tile_are_exact():
    """All better, then all equal: the largest sums that a code can reach."""
    for size in (3072, 4095):
        table = np.concatenate([[[1.0]], np.full([size - 1, 1], 2.0)])
        counts = count([[1.0], [0.0]], table, [0, 0], [[], []], [], (size, 16))
        np.testing.assert_array_equal(counts[:, 0], [[size - 1, 0], [0, size - 1]])


@pytest.fixture
def case(rng):
    """Scores that round, two entity tiles, and two sets of two relations."""
    table, queries = rng.normal(size=[4000, 32]), rng.normal(size=[40, 32])
    lists = [sorted(rng.choice(4000, size, replace=False)) for size in (5, 900)]
    known = [sorted(rng.choice(4000, 7, replace=False)) for _ in range(40)]
    sets = [(lists, np.arange(40) % 2), (lists[::-1], np.arange(40) % 2)]
    return queries, table, rng.integers(0, 4000, 40), known, sets


def test_a_wrong_guess_of_the_targets_scores_is_made_good(case, monkeypatch):
    expected = count(*case)
    monkeypatch.setattr(
        tiled_ranking,
        "guess_target_scores",
        lambda table, columns, targets: tf.zeros_like(targets, tf.float32),
    )
    # A fresh trace: the usual one has the usual guess.
    monkeypatch.setattr(tiled_ranking, "_count", tf.function(tiled_ranking._count.python_function))
    np.testing.assert_array_equal(count(*case), expected)


def test_ranks_do_not_depend_on_who_else_is_ranked(case):
    queries, table, targets, known, sets = case
    together = count(*case)
    for rows in ([3], range(10, 27)):
        rows = list(rows)
        of_rows = [(lists, np.asarray(of)[rows]) for lists, of in sets]
        alone = count(queries[rows], table, targets[rows], [known[r] for r in rows], of_rows)
        np.testing.assert_array_equal(alone, together[:, :, rows])


def test_tile_agrees_with_the_scores_of_few_queries(case):
    queries, table, targets, known, _ = case
    scores = ranking.candidate_scores(
        tf.constant(queries[:3], tf.float32), tf.constant(table, tf.float32)
    )
    counts = ranking.count_competitors(
        scores, targets[:3], tf.ragged.constant(known[:3], dtype=tf.int64, ragged_rank=1)
    )
    np.testing.assert_array_equal(count(*case)[:, 0, :3], tf.stack(counts))


def test_an_entity_too_many_for_a_tile_is_rounded_as_the_others(rng):
    """A product of one row would be rounded otherwise: equal entities would not be equal."""
    table = rng.normal(size=[3073, 1024])
    table[3072] = table[0]
    queries = rng.normal(size=[32, 1024])
    counts = count(queries, table, np.full(32, 3072), [[]] * 32, [])
    np.testing.assert_array_equal(counts[1, 0], 1)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("entity", [0, 3999], ids=["first tile", "last tile"])
def test_scores_that_are_not_finite_are_an_error(case, value, entity):
    queries, table, *rest = case
    table[entity, 3] = value
    with pytest.raises(tf.errors.InvalidArgumentError, match="NaN or infinite"):
        count(queries, table, *rest)


def test_products_that_overflow_are_an_error_and_large_ones_are_not():
    counts = count([[1e19]], [[1e19], [2e18], [1e10]], [1], [[]], [])
    np.testing.assert_array_equal(counts[:, 0], [[1], [0]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="NaN or infinite"):
        count([[1e30]], [[1e30], [1.0]], [1], [[]], [])


@pytest.mark.parametrize("dtype", [tf.bfloat16, tf.float16])
def test_ranks_are_never_taken_from_low_precision(monkeypatch, dtype):
    queries, table = tf.ones([1, 4], dtype), tf.ones([3, 4], dtype)
    with pytest.raises(TypeError, match=f"float32 scores. Received: {dtype.name} queries"):
        ranking.rank_queries(queries, table, [0])
    monkeypatch.setattr(ranking, "screening_pays", lambda *_: True)
    with pytest.raises(TypeError, match=f"float32 scores. Received: {dtype.name} queries"):
        ranking.rank_queries(queries, table, [0])
    with pytest.raises(TypeError, match=f"float32 scores. Received: {dtype.name}"):
        ranking.filtered_ranks(tf.ones([1, 3], dtype), [0])


def test_memory_of_a_tile_does_not_grow_with_the_graph():
    assert tiled_ranking.tile_bytes(width=1024) < 128 * 2**20
