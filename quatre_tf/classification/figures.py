"""Figures of a binary classification, with bootstrap intervals over the examples.

True and false examples are resampled separately: their numbers were chosen, not sampled.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

_RESAMPLES = 1000
# Examples drawn in total, but at least a hundred resamples: about half a minute.
_DRAWS = 10**8
# Examples resampled at once, but at least one resample: about 150 MB.
_AT_ONCE = 1 << 21
_PERCENTILES = (2.5, 97.5)
# The levels at which curves are reported.
LEVELS = np.linspace(0, 1, 51)


class Figure(NamedTuple):
    """A value with its 95 % interval; None if no interval was requested."""

    value: float
    low: float | None = None
    high: float | None = None


class Curves(NamedTuple):
    """What resamples give; each attribute has a row for each resample.

    Attributes:
        roc_auc: `[rows]`, the area under the ROC curve: the probability that a true example scores
            higher than a false one, where equal scores count half.
        average_precision: `[rows]`, the mean precision at the scores of true examples.
        roc: `[rows, levels]`, the true positive rate by false positive rate.
        precision_recall: `[rows, levels]`, the best precision with at least this recall.
    """

    roc_auc: np.ndarray
    average_precision: np.ndarray
    roc: np.ndarray
    precision_recall: np.ndarray


def threshold_figures(
    labels: np.ndarray, predicted: np.ndarray, seed: int | None = 1
) -> dict[str, Figure]:
    """Returns accuracy, F1, precision and recall; 0 where a quotient is 0 / 0.

    Args:
        labels: `[n]` bool, whether the examples are true.
        predicted: `[n]` bool, whether they are classified as true.
        seed: Seed of the resamples; None: no intervals.
    """
    true, false = labels.sum(), (~labels).sum()
    tp, fp = (labels & predicted).sum(), (~labels & predicted).sum()
    rng, resamples = np.random.default_rng(seed), 0 if seed is None else _RESAMPLES
    # Only these counts matter: examples drawn with replacement are binomial draws.
    tp, fp = (
        np.append(count, rng.binomial(number, count / max(number, 1), resamples))
        for count, number in ((tp, true), (fp, false))
    )
    quotients = {
        "accuracy": (tp + false - fp, np.full_like(tp, true + false)),
        "f1": (2 * tp, tp + true + fp),
        "precision": (tp, tp + fp),
        "recall": (tp, np.full_like(tp, true)),
    }
    return {name: _figure(part / np.maximum(whole, 1)) for name, (part, whole) in quotients.items()}


def curve_figures(
    labels: np.ndarray, scores: np.ndarray, seed: int | None = 1
) -> tuple[dict[str, Figure], dict[str, list[Figure]]]:
    """Returns the figures that need no threshold.

    Args:
        labels: `[n]` bool, both values among them.
        scores: `[n]`, higher for what is more likely true.
        seed: Seed of the resamples; None: no intervals.

    Returns:
        `{"roc_auc", "average_precision"}`, and the curves `{"roc", "precision_recall"}` by level.
    """
    order = np.argsort(-scores, kind="stable")
    is_true, descending = labels[order], scores[order]
    # The last example of each distinct score: equal scores are on the same side of any threshold.
    ends = np.flatnonzero(np.append(descending[1:] < descending[:-1], True))
    parts = [curves(weights, is_true, ends) for weights in _weights(is_true, seed)]
    columns = Curves(*map(np.concatenate, zip(*parts, strict=True)))
    numbers = {name: _figure(getattr(columns, name)) for name in ("roc_auc", "average_precision")}
    by_level = {
        name: [_figure(column) for column in getattr(columns, name).T]
        for name in ("roc", "precision_recall")
    }
    return numbers, by_level


def curves(weights: np.ndarray, is_true: np.ndarray, ends: np.ndarray) -> Curves:
    """Returns the curves of weighted examples in descending order of scores.

    Args:
        weights: `[rows, n]`, how often each example counts.
        is_true: `[n]` bool.
        ends: The positions of the last example of each distinct score, ascending.
    """
    start = np.zeros((len(weights), 1))
    true, false = (
        np.concatenate([start, np.cumsum(weights * chosen, axis=1)[:, ends]], axis=1)
        for chosen in (is_true, ~is_true)
    )
    recall, fall_out = true / true[:, -1:], false / false[:, -1:]
    precision = true / np.maximum(true + false, 1)
    # At a recall, the best of the thresholds that reach it.
    envelope = np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
    rows = range(len(weights))
    return Curves(
        roc_auc=(np.diff(fall_out, axis=1) * (recall[:, 1:] + recall[:, :-1]) / 2).sum(axis=1),
        average_precision=(np.diff(recall, axis=1) * precision[:, 1:]).sum(axis=1),
        roc=np.stack([np.interp(LEVELS, fall_out[row], recall[row]) for row in rows]),
        precision_recall=np.stack(
            [envelope[row, np.searchsorted(recall[row], LEVELS - 1e-9)] for row in rows]
        ),
    )


def _weights(is_true: np.ndarray, seed: int | None) -> Iterator[np.ndarray]:
    """Yields weights `[rows, n]`: first all ones, then one row per resample."""
    yield np.ones((1, len(is_true)))
    if seed is None:
        return
    rng, left = np.random.default_rng(seed), int(np.clip(_DRAWS // len(is_true), 100, _RESAMPLES))
    while left:
        rows = min(left, max(1, _AT_ONCE // len(is_true)))
        weights = np.empty((rows, len(is_true)))
        for chosen in (is_true, ~is_true):
            number = chosen.sum()
            draws = rng.integers(number, size=(rows, number)) + number * np.arange(rows)[:, None]
            times = np.bincount(draws.reshape(-1), minlength=rows * number)
            weights[:, chosen] = times.reshape(rows, number)
        yield weights
        left -= rows


def _figure(values: np.ndarray) -> Figure:
    """Returns the figure of which the first value is the observed one, the others resampled."""
    if len(values) == 1:
        return Figure(float(values[0]))
    return Figure(float(values[0]), *map(float, np.percentile(values[1:], _PERCENTILES)))
