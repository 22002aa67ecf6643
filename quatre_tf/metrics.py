"""Metrics of ranks, in float64."""

from typing import Any

import numpy as np

from quatre_tf.ranking.results import METRICS


def rank_metrics(ranks: Any) -> dict[str, float]:
    """Returns `{"mr", "mrr", "hits@1", "hits@3", "hits@10"}` of ranks; hits as fractions.

    Args:
        ranks: `[...]`, at least one.

    Raises:
        ValueError: There is no rank. The mean of nothing is no number.
    """
    values = rank_values(np.reshape(np.asarray(ranks), [-1]))
    if not len(values):
        raise ValueError("`ranks` must hold at least one rank. Received none.")
    return dict(zip(METRICS, values.mean(axis=0).tolist(), strict=True))


def rank_values(ranks: np.ndarray) -> np.ndarray:
    """Returns what each rank contributes to the mean of each of `METRICS`.

    Args:
        ranks: `[...]`, in any real dtype.

    Returns:
        `[..., metrics]` float64. Every metric of a set of ranks is a mean of these; so is every
        metric of a group, a resample or both sides together.
    """
    ranks = np.asarray(ranks, np.float64)
    return np.stack([metric.values(ranks) for metric in METRICS.values()], axis=-1)
