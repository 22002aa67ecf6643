"""Metrics of ranks, accumulated in float64."""

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from quatre_tf.ranking.results import METRICS
from quatre_tf.validation import check_positive


class _MeanOfRanks(keras.metrics.Mean):
    """A weighted mean over ranks.

    In float64: a float32 sum drops single ranks as soon as it exceeds 2^24, which the ranks of one
    test split do. Sums of hits and of ranks (multiples of 0.5) are exact up to 2^52.
    """

    def __init__(self, name: str, dtype: Any = "float64", **kwargs: Any):
        super().__init__(name=name, dtype=dtype, **kwargs)

    def update_state(self, ranks: tf.Tensor, sample_weight: tf.Tensor | None = None) -> None:
        """Adds ranks `[...]`, optionally weighted by `sample_weight` `[...]`."""
        super().update_state(self._value(tf.cast(ranks, self.dtype)), sample_weight)

    def _value(self, ranks: tf.Tensor) -> tf.Tensor:
        raise NotImplementedError


@keras.saving.register_keras_serializable("quatre_tf")
class MeanRank(_MeanOfRanks):
    """Mean of the ranks; lower is better, 1 is perfect."""

    def __init__(self, name: str = "mr", **kwargs: Any):
        super().__init__(name=name, **kwargs)

    def _value(self, ranks: tf.Tensor) -> tf.Tensor:
        return ranks


@keras.saving.register_keras_serializable("quatre_tf")
class MeanReciprocalRank(_MeanOfRanks):
    """Mean of `1 / rank`; higher is better, 1 is perfect."""

    def __init__(self, name: str = "mrr", **kwargs: Any):
        super().__init__(name=name, **kwargs)

    def _value(self, ranks: tf.Tensor) -> tf.Tensor:
        return 1.0 / ranks


@keras.saving.register_keras_serializable("quatre_tf")
class HitsAtK(_MeanOfRanks):
    """Share of ranks that are at most `k`, in [0, 1].

    Args:
        k: A positive integer.
        name: Name of the metric; None: `"hits@<k>"`.

    Raises:
        ValueError: `k` is not a positive integer.
    """

    def __init__(self, k: int, name: str | None = None, **kwargs: Any):
        self.k = check_positive("k", k)
        super().__init__(name=name or f"hits@{k}", **kwargs)

    def _value(self, ranks: tf.Tensor) -> tf.Tensor:
        return tf.cast(ranks <= self.k, ranks.dtype)

    def get_config(self) -> dict:
        """Returns the constructor's arguments."""
        return {"k": self.k, **super().get_config()}


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
