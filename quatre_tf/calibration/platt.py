"""Platt scaling: logistic curves from scores to probabilities, one per relation.

Scores are standardised. All relations together have the curve that Platt's method gives. Each
relation then has its own maximum a posteriori curve under a normal prior around that one, with a
standard deviation of 1 in slope and intercept: a relation with many positives follows its scores,
one with few stays close to the common curve, one with none has just that. So there is no threshold
of "enough" positives, and a curve is never steeper than its evidence.

References:
    - Platt, Probabilistic Outputs for Support Vector Machines, 1999
    - Lin, Lin and Weng, A Note on Platt's Probabilistic Outputs for Support Vector Machines, 2007
"""

import dataclasses

import numpy as np

# So weak that only a slope that means nothing feels it: where all scores are equal.
UNIQUE = 1e-6
SHRINKAGE = 1.0
_MAX_ITERATIONS = 100
_TOLERANCE = 1e-9


@dataclasses.dataclass(frozen=True, eq=False)
class Curves:
    """`probability = 1 / (1 + exp(-(slope * score + intercept)))`; slopes are never negative.

    Attributes:
        overall: `[2]` float64, slope and intercept of all relations together.
        relations: `[num_relations, 2]` float64, slope and intercept of each relation.
    """

    overall: np.ndarray
    relations: np.ndarray

    def probabilities(self, scores: np.ndarray, relations: np.ndarray) -> np.ndarray:
        """Returns `[n, m]` for scores `[n, m]` and the relations `[n]` of their rows."""
        slopes, intercepts = self.relations[relations].T[:, :, np.newaxis]
        return logistic(slopes * scores + intercepts)


def fit_curves(scores: np.ndarray, relations: np.ndarray, num_relations: int) -> Curves:
    """Fits the curves.

    Args:
        scores: `[n, 1 + k]`: of a positive, then of its k negatives. A negative weighs 1 / k, so
            that positives and negatives weigh alike.
        relations: `[n]` ids of relations, one a row; n is at least 1.
        num_relations: Number of relations.
    """
    mean, deviation = scores.mean(), scores.std() or 1.0
    standard, rows = (scores - mean) / deviation, len(scores)
    # Platt's targets: where scores tell all positives from all negatives, a curve through 0 and 1
    # would be infinitely steep.
    overall = _fit(standard, (rows + 1) / (rows + 2), 1 / (rows + 2), np.zeros(2), UNIQUE)
    curves = np.tile(overall, (num_relations, 1))
    for relation in np.unique(relations):
        own = standard[relations == relation]
        curves[relation] = _fit(own, 1.0, 0.0, overall, SHRINKAGE)
    return Curves(of_scores(overall, mean, deviation), of_scores(curves, mean, deviation))


def logistic(values: np.ndarray) -> np.ndarray:
    """Returns `1 / (1 + exp(-values))` without overflow."""
    return np.exp(-_softplus(-values))


def _softplus(values: np.ndarray) -> np.ndarray:
    # np.logaddexp(0, values) is the same and four times as slow.
    return np.maximum(values, 0.0) + np.log1p(np.exp(-np.abs(values)))


def _fit(
    scores: np.ndarray, positive: float, negative: float, centre: np.ndarray, strength: float
) -> np.ndarray:
    """Returns slope and intercept `[2]` of the targets `positive` and `negative`."""
    targets, weights = np.full(scores.shape, negative), np.full(scores.shape, 1.0)
    targets[:, 0] = positive
    weights[:, 1:] /= scores.shape[1] - 1
    columns = scores.reshape(-1), targets.reshape(-1), weights.reshape(-1)
    return fit_curve(*columns, np.zeros(scores.size), centre, strength)


def fit_curve(
    scores: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
    offsets: np.ndarray,
    centre: np.ndarray,
    strength: float,
) -> np.ndarray:
    """Returns the `[2]` of `logistic(slope * score + intercept + offset)`; no slope is negative.

    It minimizes weighted cross-entropy + strength / 2 |curve - centre|².

    Args:
        scores: `[n]`, best of mean 0 and deviation 1.
        targets: `[n]` in [0, 1].
        weights: `[n]`.
        offsets: `[n]`.
        centre: `[2]`, the curve where there is no evidence.
        strength: How much that counts.
    """
    found = _minimize(scores, targets, weights, offsets, centre, strength)
    if found[0] >= 0:
        return found
    # The objective is convex: its minimum over slopes that keep the order is at the slope 0.
    level = np.array([0.0, centre[1]])
    return _minimize(np.zeros(len(scores)), targets, weights, offsets, level, strength)


def _minimize(
    scores: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
    offsets: np.ndarray,
    centre: np.ndarray,
    strength: float,
) -> np.ndarray:
    """Minimizes the objective of `fit_curve` by Newton's method, without a bound on the slope."""
    features = np.stack([scores, np.ones_like(scores)], axis=1)

    def objective(curve: np.ndarray) -> float:
        logits = features @ curve + offsets
        entropy = weights @ (_softplus(logits) - targets * logits)
        return entropy + strength / 2 * ((curve - centre) ** 2).sum()

    curve, value = centre.copy(), objective(centre)
    for _ in range(_MAX_ITERATIONS):
        fitted = logistic(features @ curve + offsets)
        gradient = features.T @ (weights * (fitted - targets)) + strength * (curve - centre)
        curvature = (features.T * (weights * fitted * (1 - fitted))) @ features
        step = np.linalg.solve(curvature + strength * np.eye(2), gradient)
        if np.abs(step).max() <= _TOLERANCE:
            break
        before = value
        # A step below the tolerance cannot be told from rounding.
        while (value := objective(curve - step)) > before and np.abs(step).max() > _TOLERANCE:
            step /= 2
        curve = curve - step
    return curve


def of_scores(curves: np.ndarray, mean: float, deviation: float) -> np.ndarray:
    """Returns curves `[..., 2]` of standardised scores as curves of the scores themselves."""
    slopes = curves[..., 0] / deviation
    return np.stack([slopes, curves[..., 1] - slopes * mean], axis=-1)
