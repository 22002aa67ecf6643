import itertools

import numpy as np
import pytest
import scipy.stats

from quatre_tf.ranking import statistics


@pytest.fixture
def values(rng):
    return np.stack([rng.normal(size=200), rng.exponential(size=200)], axis=1)


def test_intervals_agree_with_scipy(values):
    ends = statistics.bootstrap_intervals(values, resamples=4000)
    assert ends.shape == (2, 2)
    for column, (low, high) in zip(values.T, ends, strict=True):
        expected = scipy.stats.bootstrap(
            (column,), np.mean, n_resamples=4000, method="percentile", rng=5
        ).confidence_interval
        # The spread of the mean is 0.07; the ends of two bootstraps differ by their noise.
        assert (low, high) == pytest.approx(tuple(expected), abs=0.01)


def test_intervals_keep_the_shape_and_depend_on_the_seed_alone(values):
    cube = values.reshape(200, 1, 2)
    ends = statistics.bootstrap_intervals(cube, seed=4)
    assert ends.shape == (1, 2, 2)
    np.testing.assert_array_equal(ends, statistics.bootstrap_intervals(cube, seed=4))
    assert (ends != statistics.bootstrap_intervals(cube, seed=5)).all()


def test_intervals_without_spread():
    assert statistics.bootstrap_intervals(np.full([5, 1], 0.5)).tolist() == [[0.5, 0.5]]
    assert statistics.bootstrap_intervals(np.array([[0.25]])).tolist() == [[0.25, 0.25]]


@pytest.mark.parametrize(
    "differences",
    [
        [1, 2, 3, -0.5, 4, 2.5],
        [1, -2, 3, 1, -4, 1],
        [0, 0, 1],
        # Sums of tenths that should be equal differ in their last bit.
        [0.1, 0.1, 0.1, -0.1, -0.1, -0.1],
        [0.1, 0.3, -0.2, 0.6, -0.7, 0.2],
    ],
)
def test_p_values_agree_with_all_sign_flips(differences):
    observed = abs(sum(differences))
    flips = itertools.product([-1, 1], repeat=len(differences))
    sums = [abs(sum(s * d for s, d in zip(signs, differences, strict=True))) for signs in flips]
    exact = np.mean([s >= observed - 1e-12 for s in sums])
    found = statistics.sign_flip_p_values(np.array(differences)[:, np.newaxis], permutations=20000)
    assert found == pytest.approx(exact, abs=0.015)


def test_p_values_of_no_and_of_a_clear_difference(rng):
    differences = np.stack([np.zeros(500), 1 + rng.normal(size=500), rng.normal(size=500)], axis=1)
    same, clear, chance = statistics.sign_flip_p_values(differences)
    assert same == 1
    assert clear == 1 / 2001
    expected = scipy.stats.ttest_1samp(differences[:, 2], 0).pvalue
    assert chance == pytest.approx(expected, abs=0.04)
