"""Score thresholds that tell true triples from false ones, one per relation.

References:
    - Socher, Chen, Manning and Ng, Reasoning With Neural Tensor Networks for Knowledge Base
      Completion, NIPS 2013
"""

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True, eq=False)
class Thresholds:
    """A triple is classified as true if its score is at least the threshold of its relation.

    Attributes:
        overall: The threshold of all relations together.
        relations: `[num_relations]` float32. A relation without examples has `overall`.
    """

    overall: np.float32
    relations: np.ndarray

    def classify(self, scores: np.ndarray, relations: np.ndarray) -> np.ndarray:
        """Returns `[n]` bool for scores `[n]` and relation ids `[n]`."""
        return scores >= self.relations[relations]


def fit_thresholds(
    scores: np.ndarray, labels: np.ndarray, relations: np.ndarray, num_relations: int
) -> Thresholds:
    """Chooses the thresholds that classify most examples correctly.

    Args:
        scores: `[n]` float32, finite; n is at least 1.
        labels: `[n]` bool, whether the triples are true.
        relations: `[n]` relation ids.
        num_relations: Number of relations.
    """
    overall = best_threshold(scores, labels)
    thresholds = np.full(num_relations, overall)
    for relation in np.unique(relations):
        rows = relations == relation
        thresholds[relation] = best_threshold(scores[rows], labels[rows])
    return Thresholds(overall, thresholds)


def best_threshold(scores: np.ndarray, labels: np.ndarray) -> np.float32:
    """Returns the threshold with the highest accuracy; of several, one in the middle.

    It lies halfway between two scores. If everything is true, it is the lowest score; if
    everything is false, the next float above the highest.

    Args:
        scores: `[n]` float32, finite; n is at least 1.
        labels: `[n]` bool.
    """
    order = np.argsort(scores, kind="stable")
    ascending, is_true = scores[order].astype(np.float32), labels[order]
    # At cut i the examples from i on are classified as true.
    correct = np.concatenate([[0], np.cumsum(~is_true)])
    correct += is_true.sum() - np.concatenate([[0], np.cumsum(is_true)])
    is_cut = np.concatenate([[True], ascending[1:] > ascending[:-1], [True]])
    cuts = np.flatnonzero(is_cut & (correct == correct[is_cut].max()))
    cut = cuts[len(cuts) // 2]
    if cut == 0:
        return ascending[0]
    below = ascending[cut - 1]
    if cut == len(ascending):
        return np.nextafter(below, np.float32(np.inf))
    # The sum of two large scores would overflow, and half of neighboring floats may round down.
    middle = np.float32(below / 2 + ascending[cut] / 2)
    return middle if middle > below else ascending[cut]
