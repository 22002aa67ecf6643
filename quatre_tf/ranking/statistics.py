"""Uncertainty of means over triples: bootstrap intervals and a paired test.

Both resample triples, not queries: the two queries of a triple are not independent. One resample
serves all columns, so a hundred figures cost as much as their product with the resamples.
"""

import numpy as np

CONFIDENCE = 0.95
# The ends of a 95 % interval then rest on 25 resamples each; its noise is in the third digit.
_RESAMPLES = 1000
_PERMUTATIONS = 2000
# Rows of resamples at once: memory stays at this many numbers a triple.
_CHUNK = 64


def bootstrap_intervals(
    values: np.ndarray, *, seed: int = 1, resamples: int = _RESAMPLES
) -> np.ndarray:
    """Returns percentile bootstrap intervals of the means of columns.

    Args:
        values: `[n, ...]`, a row a triple.
        seed: Of the resamples.
        resamples: How many sets of n triples are drawn with replacement.

    Returns:
        `[..., 2]`: the low and the high end of 95 %.

    References:
        - Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13
    """
    rng, rows = np.random.default_rng(seed), len(values)
    columns = values.reshape(rows, -1)
    means = [_resampled_means(columns, rng, size) for size in _chunks(resamples)]
    tail = 50 * (1 - CONFIDENCE)
    ends = np.percentile(np.concatenate(means), [tail, 100 - tail], axis=0)
    return np.moveaxis(ends, 0, -1).reshape(*values.shape[1:], 2)


def sign_flip_p_values(
    differences: np.ndarray, *, seed: int = 1, permutations: int = _PERMUTATIONS
) -> np.ndarray:
    """Returns two-sided p values of the hypothesis that paired differences have no direction.

    If two models were alike, a triple's difference would as well have had the other sign. The p
    value is the share of random sign flips whose mean is at least as far from 0 as the observed
    one, the observed one counted among them: it is never below 1 / (permutations + 1).

    Args:
        differences: `[n, ...]`, a row a triple.
        seed: Of the flips.
        permutations: How many random flips.

    Returns:
        `[...]`.

    References:
        - Good, Permutation, Parametric and Bootstrap Tests of Hypotheses, 2005, section 3.2
    """
    rng, rows = np.random.default_rng(seed), len(differences)
    columns = differences.reshape(rows, -1)
    # Sums that should be equal differ in their rounding.
    observed = np.abs(columns.sum(axis=0)) - 1e-9 * np.abs(columns).sum(axis=0)
    extreme = np.zeros(columns.shape[1], np.int64)
    for size in _chunks(permutations):
        signs = 1.0 - 2.0 * rng.integers(0, 2, (size, rows), np.int8)
        extreme += (np.abs(signs @ columns) >= observed).sum(axis=0)
    return ((1 + extreme) / (1 + permutations)).reshape(differences.shape[1:])


def _resampled_means(columns: np.ndarray, rng: np.random.Generator, size: int) -> np.ndarray:
    """Returns `[size, columns]`."""
    rows = len(columns)
    draws = rng.integers(0, rows, (size, rows)) + rows * np.arange(size)[:, np.newaxis]
    # How often each triple was drawn: a product with them sums the draws of all columns at once.
    times = np.bincount(draws.reshape(-1), minlength=size * rows).reshape(size, rows)
    return times.astype(np.float64) @ columns / rows


def _chunks(total: int) -> list[int]:
    return [min(_CHUNK, total - start) for start in range(0, total, _CHUNK)]
