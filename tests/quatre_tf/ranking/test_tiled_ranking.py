import itertools

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings

from quatre_tf.ranking import counting, tiles
from quatre_tf.similarities import DOT
from tests.quatre_tf.ranking.counting import LARGEST_TILE, cases, count, naive


@given(cases())
@settings(max_examples=40, deadline=None)
def test_counts_equal_a_naive_ranking(case):
    queries, table, targets, known, sets, tile = case
    expected = naive(queries @ table.T, targets, known, sets)
    np.testing.assert_array_equal(count(queries, table, targets, known, sets, tile), expected)


def test_counts_of_a_full_tile_are_exact():
    """All better, then all equal: the largest sums that a code can reach."""
    table = np.full([LARGEST_TILE[0], 3], 2.0)
    table[0] = 1.0
    counts = count([[1.0, 0, 0], [0, 0, 0]], table, [0, 0], [[], []], [], LARGEST_TILE)
    np.testing.assert_array_equal(counts[:, 0], [[4094, 0], [0, 4094]])


@pytest.fixture
def case(rng):
    """Scores that round, two entity tiles, and two sets of two relations."""
    table, queries = rng.normal(size=[4000, 32]), rng.normal(size=[40, 32])
    lists = [sorted(rng.choice(4000, size, replace=False)) for size in (5, 900)]
    known = [sorted(rng.choice(4000, 7, replace=False)) for _ in range(40)]
    sets = [(lists, np.arange(40) % 2), (lists[::-1], np.arange(40) % 2)]
    return queries, table, rng.integers(0, 4000, 40), known, sets


def test_a_wrong_prediction_of_the_targets_scores_is_corrected(case, monkeypatch):
    """A first tile that is rounded otherwise than the others."""
    expected = count(*case)
    score, calls = DOT.tile, []

    def rounded_otherwise(rows, queries):
        calls.append(1)
        return score(rows, queries) + (0.01 if len(calls) == 1 else 0.0)

    monkeypatch.setattr(type(DOT), "tile", staticmethod(rounded_otherwise))
    # A fresh trace: the usual one has the usual scores.
    monkeypatch.setattr(counting, "_compiled_count", tf.function(counting._count))
    np.testing.assert_array_equal(count(*case), expected)
    assert len(calls) > 1


def test_ranks_do_not_depend_on_who_else_is_ranked(case):
    queries, table, targets, known, sets = case
    together = count(*case)
    for rows in ([3], range(10, 27)):
        rows = list(rows)
        of_rows = [(lists, np.asarray(of)[rows]) for lists, of in sets]
        alone = count(queries[rows], table, targets[rows], [known[r] for r in rows], of_rows)
        np.testing.assert_array_equal(alone, together[:, :, rows])


def test_an_entity_too_many_for_a_tile_is_rounded_as_the_others(rng):
    """A product of one row would be rounded otherwise: equal entities would not be equal."""
    table = rng.normal(size=[3073, 1024])
    table[3072] = table[0]
    queries = rng.normal(size=[32, 1024])
    counts = count(queries, table, np.full(32, 3072), [[]] * 32, [])
    np.testing.assert_array_equal(counts[1, 0], 1)


# The first entity is in the first tile, the last one in the last.
@pytest.mark.parametrize(("value", "entity"), [(np.nan, 0), (np.inf, 3999), (-np.inf, 3999)])
def test_scores_that_are_not_finite_are_an_error(case, value, entity):
    queries, table, *rest = case
    table[entity, 3] = value
    with pytest.raises(tf.errors.InvalidArgumentError, match="NaN or infinite"):
        count(queries, table, *rest)


def test_products_that_overflow_are_an_error_and_large_ones_are_not():
    one = np.array([[1.0, 0, 0]])
    table = [[1e19], [2e18], [1e10]] * one
    counts = count(1e19 * one, table, [1], [[]], [], LARGEST_TILE)
    np.testing.assert_array_equal(counts[:, 0], [[1], [0]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="NaN or infinite"):
        count(1e30 * one, [[1e30], [1.0]] * one, [1], [[]], [], LARGEST_TILE)


@pytest.mark.parametrize("dtype", [tf.bfloat16, tf.float16])
def test_ranks_are_never_taken_from_low_precision(dtype):
    queries, table = tf.ones([1, 4], dtype), tf.ones([3, 4], dtype)
    with pytest.raises(TypeError, match=f"float32 tables. Received: {dtype.name} queries"):
        counting.count_better(queries, tiles.candidate_table(table), None)


def test_top_k(rng, monkeypatch):
    """Small tiles, three equal rows, and a mask that leaves entity 9 out."""
    monkeypatch.setattr(tiles, "_LEAST_TOP_K_TILE", 5)
    monkeypatch.setattr(tiles, "_TOP_K_SCORES", 1)
    table = rng.normal(size=(37, 8)).astype(np.float32)
    table[5] = table[30] = table[11]

    def mask(scores, tile):
        ids = tf.range(tile[0], tile[1])[:, tf.newaxis]
        return tf.where(ids == 9, -np.inf, scores)

    # One trace, while the tiles are small, for all numbers of queries.
    @tf.function(input_signature=[tf.TensorSpec([None, 8]), tf.TensorSpec([], tf.int32)])
    def top_k(queries, k):
        return tiles.top_k(DOT, tf.constant(table), queries, k, mask_scores=mask)

    for batch, k in itertools.product([0, 1, 3, 17], [1, 4, 36, 37, 1000]):
        queries = rng.normal(size=(batch, 8)).astype(np.float32)
        scores, ids = top_k(queries, k)
        # Rounded, so that the three equal rows are equal here as well; the sort is stable.
        expected = np.round(queries.astype(np.float64) @ table.T, 9)
        expected[:, 9] = -np.inf
        order = np.argsort(-expected, axis=1, kind="stable")[:, :k]
        np.testing.assert_array_equal(ids, order)
        expected = np.take_along_axis(expected, order, axis=1)
        np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-5)
