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

import numpy as np

# So weak that only a slope that means nothing feels it: where all scores are equal.
_UNIQUE = 1e-6
_SHRINKAGE = 1.0
_MAX_ITERATIONS = 100
_TOLERANCE = 1e-9


def probabilities_of(curves: np.ndarray, scores: np.ndarray, relations: np.ndarray) -> np.ndarray:
    """Returns `[n, m]` by the curves `[num_relations, 2]` of `fit_curves`.

    Args:
        curves: Slope and intercept of each relation.
        scores: `[n, m]`.
        relations: `[n]`, the relation of each row.
    """
    slopes, intercepts = curves[relations].T[:, :, np.newaxis]
    return logistic(slopes * scores + intercepts)


def fit_curves(scores: np.ndarray, relations: np.ndarray, num_relations: int) -> np.ndarray:
    """Returns slope and intercept of each relation, `[num_relations, 2]`; no slope is negative.

    `probability = 1 / (1 + exp(-(slope * score + intercept)))`.

    Args:
        scores: `[n, 1 + k]`: of a positive, then of its k negatives. A negative weighs 1 / k, so
            that positives and negatives weigh alike.
        relations: `[n]` ids of relations, one a row; n is at least 1.
        num_relations: Number of relations.
    """
    rows, width = scores.shape
    is_positive = np.arange(scores.size) % width == 0
    # Platt's targets: where scores tell all positives from all negatives, a curve through 0 and 1
    # would be infinitely steep.
    targets = np.where(is_positive, rows + 1, 1) / (rows + 2)
    columns = scores.reshape(-1), is_positive, np.where(is_positive, 1.0, 1 / (width - 1))
    offsets, groups = np.zeros(scores.size), np.repeat(relations, width)
    return fit_groups(*columns, offsets, groups, num_relations, targets)


def fit_groups(
    scores: np.ndarray,
    labels: np.ndarray,
    weights: np.ndarray,
    offsets: np.ndarray,
    groups: np.ndarray,
    num_groups: int,
    targets: np.ndarray | None = None,
) -> np.ndarray:
    """Returns the slope and intercept of each group, `[num_groups, 2]`.

    The curve is `logistic(slope * score + intercept + offset)`.

    Args:
        scores: `[n]`.
        labels: `[n]`, 0 or 1.
        weights: `[n]`.
        offsets: `[n]`.
        groups: `[n]` ids; a group without scores has the curve of all together.
        num_groups: Number of groups.
        targets: `[n]` in [0, 1], of the common curve; default: `labels`.
    """
    mean, deviation = scores.mean(), scores.std() or 1.0
    standard, of_all = (scores - mean) / deviation, labels if targets is None else targets
    overall = _fit_curve(standard, of_all, weights, offsets, np.zeros(2), _UNIQUE)
    curves = np.tile(overall, (num_groups, 1))
    order = np.argsort(groups, kind="stable")
    found, starts = np.unique(groups[order], return_index=True)
    for group, own in zip(found, np.split(order, starts[1:]), strict=True):
        of_own = standard[own], labels[own], weights[own], offsets[own]
        curves[group] = _fit_curve(*of_own, overall, _SHRINKAGE)
    # Undo the standardization.
    slopes = curves[:, 0] / deviation
    return np.stack([slopes, curves[:, 1] - slopes * mean], axis=-1)


def logistic(values: np.ndarray) -> np.ndarray:
    """Returns `1 / (1 + exp(-values))` without overflow."""
    return np.exp(-_softplus(-values))


def _softplus(values: np.ndarray) -> np.ndarray:
    # np.logaddexp(0, values) is the same and four times as slow.
    return np.maximum(values, 0.0) + np.log1p(np.exp(-np.abs(values)))


def _fit_curve(
    scores: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
    offsets: np.ndarray,
    centre: np.ndarray,
    strength: float,
) -> np.ndarray:
    """Returns the `[2]` of `logistic(slope * score + intercept + offset)`; no slope is negative.

    It minimizes weighted cross-entropy + strength / 2 |curve - centre|². Scores are best of mean 0
    and deviation 1; `centre` is the curve where there is no evidence.
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
    """Minimizes the objective of `_fit_curve` by Newton's method, without a bound on the slope."""
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
