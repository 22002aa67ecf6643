"""Screening in bfloat16 leaves all counts as they are in float32, and is used where it pays."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from quatre_tf.ranking import ranks as ranking
from quatre_tf.ranking import screened as screened_ranking
from quatre_tf.ranking import table as ranking_table
from quatre_tf.ranking import tiles as tiled_ranking
from tests.quatre_tf.ranking.counting import cases, count, naive


@pytest.fixture(scope="module", autouse=True)
def all_screened():
    """Every query is screened, however many of its scores are open, in small spans and chunks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(screened_ranking, "_NARROW", 1.0)
        patch.setattr(tiled_ranking, "_WORTH_A_TILE", 0.0)
        patch.setattr(screened_ranking, "_SPAN", 2)
        patch.setattr(screened_ranking, "_CHUNK", 300)
        # A fresh trace: the usual one has the usual numbers.
        fresh = tf.function(tiled_ranking._count.python_function)
        patch.setattr(tiled_ranking, "_count", fresh)
        yield


@given(cases())
@settings(max_examples=40, deadline=None)
def test_counts_equal_a_naive_ranking(case):
    queries, table, targets, known, sets, tile = case
    expected = naive(queries @ table.T, targets, known, sets)
    np.testing.assert_array_equal(
        count(queries, table, targets, known, sets, tile, screened=True), expected
    )


def close_race(rng, scale=1.0, batch=40):
    """Every entity is one of five, exactly or but for less than bfloat16 sees; two sets."""
    kinds = rng.normal(size=[5, 32])[rng.integers(0, 5, 900)]
    shifts = 1e-3 * rng.normal(size=[900, 32]) * rng.integers(0, 2, [900, 1])
    lists = [sorted(rng.choice(900, size, replace=False)) for size in (5, 400)]
    known = [sorted(rng.choice(900, 7, replace=False)) for _ in range(batch)]
    sets = [(lists, np.arange(batch) % 2), (lists[::-1], np.arange(batch) % 2)]
    queries = scale * rng.normal(size=[batch, 32])
    return queries, scale * (kinds + shifts), rng.integers(0, 900, batch), known, sets


# With the smallest the squares of all elements vanish in float32.
@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e-15, 1e-25, 1e12])
def test_counts_are_those_of_float32_scores(rng, scale):
    case = close_race(rng, scale)
    exact = count(*case, tile=(128, 32))
    np.testing.assert_array_equal(count(*case, tile=(128, 32), screened=True), exact)


def test_further_targets_are_counted_as_first_ones(rng):
    """Of leading queries, so that fewer are looked at for the second and third."""
    queries, table, _, known, sets = close_race(rng, batch=200)
    targets = rng.integers(0, 900, [3, 200])
    targets[1, 100:] = targets[2, 10:] = -1
    for screened in (False, True):
        counts = count(queries, table, targets, known, sets, screened=screened)
        for depth, number in enumerate((200, 100, 10)):
            alone = count(queries, table, targets[depth].clip(0), known, sets, screened=False)
            np.testing.assert_array_equal(counts[:, :, depth, :number], alone[..., :number])


def test_bfloat16_alone_would_count_otherwise(rng):
    """So the test above can fail."""
    queries, table, targets, *_ = close_race(rng)
    scores = tf.linalg.matmul(
        tf.cast(queries, tf.bfloat16), tf.cast(table, tf.bfloat16), transpose_b=True
    )
    rounded = ranking.count_competitors(tf.cast(scores, tf.float32), targets)
    exact = ranking.count_competitors(tf.constant(queries @ table.T), targets)
    assert (rounded[0] != exact[0]).numpy().mean() > 0.5


def test_equal_rows_are_ties(rng):
    table = np.repeat(rng.normal(size=[3, 16]), 50, axis=0)
    counts = count(rng.normal(size=[4, 16]), table, [0, 60, 70, 149], [[]] * 4, [], screened=True)
    np.testing.assert_array_equal(counts[1, 0], [49] * 4)
    assert set(counts[0, 0]) <= {0, 50, 100}


def by_columns(*values):
    return ranking_table.Rough.of(tf.constant([values], tf.float32)).by_columns()


# Of one element each, so that nothing is lost by the inequality of Cauchy and Schwarz.
@pytest.mark.parametrize(
    ("entity", "query"),
    [
        (1 + 2.0**-8 - 2.0**-20, 1.0),  # rounded down by nearly half a digit
        (1.0, 1 + 2.0**-8 - 2.0**-20),
        (1 + 2.0**-8 - 2.0**-20, -1 - 2.0**-8 + 2.0**-20),
        (255.0, 129.0),  # 32,895 has more digits than bfloat16
    ],
)
def test_bounds_of_scores_hold_and_are_close(entity, query):
    """Each term by itself is needed where the others vanish."""
    row = ranking_table.Rough.of(tf.constant([[entity]], tf.float32))
    column = by_columns(query)
    scores = tf.cast(tf.linalg.matmul(row.values, column.values), tf.float32)
    (bound,) = screened_ranking.score_errors(scores, row, column).numpy().ravel()
    exact = np.float64(np.float32(entity)) * np.float64(np.float32(query))
    error = abs(exact - scores.numpy().item())
    assert error <= bound
    assert bound - error < 2.0**-6 * abs(exact)


@pytest.mark.parametrize("side", ["table", "queries"])
def test_the_bound_covers_what_rounding_took(side):
    """Elements rounded down by nearly half a digit, in sums that cancel: only the bound is left."""
    digit = 2.0**-8 - 2.0**-20
    long = np.tile([1 + digit, -1 - digit], 50).astype(np.float32)
    exact = np.sign(long)
    # The products with signs add up what was lost; a last element takes the sum away.
    rounded, whole = np.append(long, 100.0), np.append(exact, -1.0)
    row, column = (rounded, whole) if side == "table" else (whole, rounded)
    table = ranking_table.Rough.of(tf.constant([row], tf.float32))
    queries = by_columns(*column)
    scores = tf.cast(tf.linalg.matmul(table.values, queries.values), tf.float32)
    np.testing.assert_allclose(scores, [[0.0]], atol=1e-3)
    error = abs(float(rounded.astype(np.float64) @ whole) - scores.numpy().item())
    bound = screened_ranking.score_errors(scores, table, queries).numpy().item()
    assert 0.3 < error <= bound
    assert bound < 2 * error


@given(st.integers(0, 2**32), st.integers(-30, 15), st.integers(1, 300))
@settings(max_examples=50, deadline=None)
def test_bounds_of_rounded_vectors_hold(seed, exponent, width):
    rng = np.random.default_rng(seed)
    spread = 10.0 ** rng.integers(-4, 5, [width, 6])
    vectors = (10.0**exponent * spread * rng.normal(size=[width, 6])).T.astype(np.float32)
    rough = ranking_table.Rough.of(tf.constant(vectors))
    exact, rounded = vectors.astype(np.float64), rough.values.numpy().astype(np.float64)
    assert (rough.norms >= np.linalg.norm(exact, axis=1)).numpy().all()
    assert (rough.norms >= np.linalg.norm(rounded, axis=1)).numpy().all()
    assert (rough.errors >= np.linalg.norm(exact - rounded, axis=1)).numpy().all()


def test_bounds_of_rounded_vectors_are_not_idle(rng):
    vectors = rng.normal(size=[7, 1024]).astype(np.float32)
    rough = ranking_table.Rough.of(tf.constant(vectors))
    norms = np.linalg.norm(vectors, axis=1)
    np.testing.assert_allclose(rough.norms, norms, rtol=3e-3)
    # Rounded to 8 bits.
    assert (rough.errors < norms * 2.0**-8).numpy().all()


def test_too_many_open_scores_are_left_to_the_caller(rng, monkeypatch):
    """The sample may not have shown them, and each takes memory."""
    case = close_race(rng)
    monkeypatch.setattr(screened_ranking, "_MOST_BLOCKS", 50)
    monkeypatch.setattr(tiled_ranking, "_count", tf.function(tiled_ranking._count.python_function))
    assert (count(*case, screened=True) == -1).all()


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e38])
def test_scores_that_may_not_be_finite_are_left_to_the_caller(rng, value):
    queries, table, *rest = close_race(rng)
    table[899, 3] = value
    assert (count(queries, table, *rest, screened=True) == -1).all()


@pytest.fixture
def usual_share(monkeypatch):
    monkeypatch.setattr(screened_ranking, "_NARROW", 0.01)


@pytest.mark.usefixtures("usual_share")
def test_queries_of_low_targets_are_not_screened(rng):
    table = rng.normal(size=[3000, 64]).astype(np.float32)
    queries = rng.normal(size=[32, 64]).astype(np.float32)
    order = np.argsort(queries @ table.T, axis=1)
    for place, expected in ((-1, True), (1500, False)):
        targets = order[:, place].astype(np.int64)
        rows = ranking_table.Rough.of(tf.constant(table))
        columns = ranking_table.Rough.of(tf.constant(queries)).by_columns()
        thresholds = tf.constant([(queries * table[targets]).sum(axis=1)])
        slack = screened_ranking.threshold_errors(rows, columns, tf.constant([targets]))
        narrow = screened_ranking.is_narrow(rows, columns, thresholds, slack)
        np.testing.assert_array_equal(narrow, expected)


@pytest.mark.usefixtures("usual_share")
def test_queries_that_were_not_screened_are_left_to_the_caller(rng, monkeypatch):
    monkeypatch.setattr(tiled_ranking, "_count", tf.function(tiled_ranking._count.python_function))
    queries, table, targets, known, sets = close_race(rng)
    table = rng.normal(size=table.shape)
    order = np.argsort(queries @ table.T, axis=1)
    is_low = np.arange(40) % 3 == 0
    targets = order[np.arange(40), np.where(is_low, 400, -1)]
    case = queries, table, targets, known, sets
    expected = count(*case)
    counts = count(*case, screened=True)
    left = counts[0, 0] == -1
    assert left[is_low].mean() > 0.5
    assert not left[~is_low].any()
    np.testing.assert_array_equal(counts[:, :, ~left], expected[:, :, ~left])
    assert (counts[:, :, left] == -1).all()


def test_rank_queries_counts_all(rng, monkeypatch):
    """Those of low targets, too, whatever is screened."""
    monkeypatch.setattr(screened_ranking, "_NARROW", 0.01)
    monkeypatch.setattr(tiled_ranking, "_count", tf.function(tiled_ranking._count.python_function))
    queries, table = rng.normal(size=[40, 32]), rng.normal(size=[900, 32])
    queries, table = queries.astype(np.float32), table.astype(np.float32)
    targets = np.argsort(queries @ table.T, axis=1)[np.arange(40), -1 - 10 * np.arange(40)]
    counts = []
    for screened in (False, True):
        monkeypatch.setattr(ranking, "screening_pays", lambda *_, screened=screened: screened)
        counts.append(tf.stack(ranking.rank_queries(queries, table, targets)))
    np.testing.assert_array_equal(counts[0][0], 10 * np.arange(40))
    np.testing.assert_array_equal(*counts)


def test_screening_pays_for_large_products_where_bfloat16_is_quick(monkeypatch):
    for quick in (True, False):
        monkeypatch.setattr(ranking_table, "_has_quick_bfloat16", lambda quick=quick: quick)
        assert ranking_table.screening_pays(40_943, 1024, 3_000) is quick
        for shape in ((271, 1024, 3_000), (40_943, 128, 3_000), (40_943, 1024, 100)):
            assert not ranking_table.screening_pays(*shape)


@pytest.mark.parametrize(("factor", "expected"), [(3, True), (1.5, False)])
def test_quick_is_what_is_measured(monkeypatch, factor, expected):
    seconds = {tf.float32: factor, tf.bfloat16: 1}
    monkeypatch.setattr(ranking_table, "_product_seconds", seconds.__getitem__)
    assert ranking_table._has_quick_bfloat16.__wrapped__() is expected


def test_accelerators_are_not_screened(monkeypatch):
    devices = [tf.config.PhysicalDevice("/physical_device:GPU:0", "GPU")]
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda: devices)
    assert not ranking_table._has_quick_bfloat16.__wrapped__()
