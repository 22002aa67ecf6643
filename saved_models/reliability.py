"""Quality of probabilities: Brier score, log loss, expected calibration error.

Probabilities are `[n, 1 + k]`: of a positive, then of its k negatives. A negative weighs 1 / k, so
that positives and negatives weigh alike.
"""

import numpy as np

NUM_BINS = 15
# As far as a float32 probability can be from 1; the log loss of a sure error stays finite.
_SURE = 2.0**-24


def quality(probabilities: np.ndarray) -> dict[str, float]:
    """Returns `{"brier", "log_loss", "ece"}`, where 0 is perfect; one half gives 0.25, ln 2 and 0.

    `ece`, the expected calibration error, is the mean over bins, by weight, of |mean probability -
    share of positives| (Naeini, Cooper and Hauskrecht 2015, "Obtaining well calibrated
    probabilities using Bayesian binning", with the bins of `reliability_bins`).
    """
    weight, predicted, observed = reliability_bins(probabilities).T
    losses = triple_losses(probabilities).mean(axis=0)
    return {
        "brier": float(losses[0]),
        "log_loss": float(losses[1]),
        "ece": float(weight @ np.abs(predicted - observed)),
    }


def triple_losses(probabilities: np.ndarray) -> np.ndarray:
    """Returns `[n, 2]`: the Brier score and the log loss of each positive and its negatives.

    The figures of the whole are the means over rows.
    """
    clipped = np.clip(probabilities, _SURE, 1 - _SURE)
    brier = np.concatenate([(1 - probabilities[:, :1]) ** 2, probabilities[:, 1:] ** 2], axis=1)
    log_loss = -np.concatenate([np.log(clipped[:, :1]), np.log1p(-clipped[:, 1:])], axis=1)
    return np.stack([(x[:, 0] + x[:, 1:].mean(axis=1)) / 2 for x in (brier, log_loss)], axis=1)


def reliability_bins(probabilities: np.ndarray, num_bins: int = NUM_BINS) -> np.ndarray:
    """Returns bins of equal weight, in ascending order, without empty ones: `[bins, 3]`.

    Columns: weight (their sum is 1), mean probability, share of positives. Equal probabilities are
    in one bin, so where many are equal there are fewer bins.
    """
    values, places = np.unique(probabilities, return_inverse=True)
    weights = np.full(probabilities.shape, 0.5 / len(probabilities))
    weights[:, 1:] /= probabilities.shape[1] - 1
    places = places.reshape(probabilities.shape)
    mass = np.bincount(places.reshape(-1), weights.reshape(-1))
    positive = np.bincount(places[:, 0], weights[:, 0], minlength=len(values))
    # The bin of a value is where the middle of its weight lies.
    middles = np.cumsum(mass) - mass / 2
    bins = np.minimum((middles * num_bins).astype(int), num_bins - 1)
    sums = np.stack([np.bincount(bins, of) for of in (mass, mass * values, positive)], axis=1)
    sums = sums[sums[:, 0] > 0]
    return np.concatenate([sums[:, :1], sums[:, 1:] / sums[:, :1]], axis=1)
