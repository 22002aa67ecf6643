"""Score thresholds that tell true triples from false ones, one per relation.

References:
    - Socher, Chen, Manning and Ng, Reasoning With Neural Tensor Networks for Knowledge Base
      Completion, NIPS 2013
"""

import numpy as np


def fit_thresholds(
    scores: np.ndarray, labels: np.ndarray, relations: np.ndarray, num_relations: int
) -> np.ndarray:
    """Returns the thresholds `[num_relations]` float32 that classify most examples correctly.

    A triple is classified as true if its score is at least the threshold of its relation. A
    relation has the threshold of all together unless there are true and false examples of it.

    Args:
        scores: `[n]` float32, finite; n is at least 1.
        labels: `[n]` bool, whether the triples are true.
        relations: `[n]` relation ids.
        num_relations: Number of relations.
    """
    thresholds = np.full(num_relations, best_threshold(scores, labels))
    for relation in np.unique(relations):
        rows = relations == relation
        if 0 < labels[rows].sum() < rows.sum():
            thresholds[relation] = best_threshold(scores[rows], labels[rows])
    return thresholds


def best_threshold(scores: np.ndarray, labels: np.ndarray) -> np.float32:
    """Returns the threshold with the highest accuracy; of several, one in the middle.

    It lies halfway between two scores; beyond the lowest or highest score, by half the distance of
    the nearest two. So scores that round differently elsewhere are classified alike.

    Args:
        scores: `[n]` float32, finite; n is at least 1.
        labels: `[n]` bool.
    """
    distinct, place = np.unique(scores.astype(np.float64), return_inverse=True)
    true, false = np.bincount(place, labels), np.bincount(place, ~labels)
    # At cut i, the scores from distinct[i] on are classified as true.
    correct = np.append(0, np.cumsum(false)) + true.sum() - np.append(0, np.cumsum(true))
    gaps = np.diff(distinct)
    if not len(gaps):
        gaps = np.maximum(np.abs(distinct), 1) * 1e-3
    bounds = np.concatenate([distinct[:1] - gaps[:1], distinct, distinct[-1:] + gaps[-1:]])
    best = np.flatnonzero(correct == correct.max())
    cut = best[len(best) // 2]
    threshold = np.float32((bounds[cut] + bounds[cut + 1]) / 2)
    # Between neighboring floats there is no third.
    return threshold if threshold > bounds[cut] else np.float32(bounds[cut + 1])
