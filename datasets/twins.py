"""Twin relations: inverse, duplicate and symmetric ones, whose facts follow from another fact.

Two triples are twins if they join the same two entities under twin relations. Where one of them is
in train and the other one in test, a rule answers what a model should have learned: most of WN18
and FB15k is like that, which is why WN18RR and FB15k-237 were made.

References:
    - Toutanova and Chen, Observed versus Latent Features for Knowledge Base and Text Inference,
      2015
    - Dettmers et al., Convolutional 2D Knowledge Graph Embeddings, 2018, section 5
"""

import dataclasses
from typing import Any

import numpy as np

from quatre_tf.data.encoding import SPLITS
from quatre_tf.data.graph import Graph
from quatre_tf.data.known_triples import index_heads, index_tails

# Toutanova and Chen took relations for near duplicates or inverses of each other from this overlap.
MIN_SHARE = 0.97
# Two relations with a handful of pairs have them in common by chance.
MIN_SHARED = 5
_HITS_AT = (1, 10)


@dataclasses.dataclass(frozen=True, eq=False)
class Twins:
    """Pairs of relations that hold of the same pairs of entities, the largest overlap first.

    Attributes:
        first: [twins] relation ids.
        second: [twins] relation ids, above `first`; equal to it for a symmetric relation.
        reverse: [twins] bool: whether head and tail change places, as they do for inverse and
            symmetric relations, but not for duplicates.
        shared: [twins] how many pairs (head, tail) of `first` are (reversed) pairs of `second`.
        sizes: [num_relations] how many distinct pairs each relation has, loops (h, r, h) left out.
    """

    first: np.ndarray
    second: np.ndarray
    reverse: np.ndarray
    shared: np.ndarray
    sizes: np.ndarray

    def __len__(self) -> int:
        return len(self.first)

    @property
    def kinds(self) -> list[str]:
        """`"symmetric"`, `"inverse"` or `"duplicate"` for each."""
        names = np.where(self.reverse, "inverse", "duplicate")
        return np.where(self.first == self.second, "symmetric", names).tolist()

    @property
    def shares(self) -> np.ndarray:
        """[twins, 2]: the part of the pairs of `first`, and of `second`, that is shared."""
        sizes = np.stack([self.sizes[self.first], self.sizes[self.second]], axis=1)
        return self.shared[:, np.newaxis] / sizes

    def where(self, chosen: np.ndarray) -> "Twins":
        """Returns those at the places `chosen`: a mask or indices."""
        columns = ("first", "second", "reverse", "shared")
        return dataclasses.replace(self, **{name: getattr(self, name)[chosen] for name in columns})

    def suspected(self) -> "Twins":
        """Returns those that share at least 97 % of the pairs of one of the two, and 5 pairs.

        One of the two is enough: if nearly all facts of `capital_of` are facts of `city_in`, the
        first gives the second away. Of triples of all splits, and not of train alone, because the
        other half of a pair may have been put anywhere.
        """
        likely = self.shares.max(axis=1, initial=0) >= MIN_SHARE
        return self.where(likely & (self.shared >= MIN_SHARED))

    def clusters(self) -> np.ndarray:
        """Returns [num_relations]: the same number for relations that twins connect."""
        labels = np.arange(len(self.sizes))
        while True:
            lowest = np.minimum(labels[self.first], labels[self.second])
            before = labels.copy()
            np.minimum.at(labels, self.first, lowest)
            np.minimum.at(labels, self.second, lowest)
            if (labels == before).all():
                return labels


def overlaps(triples: np.ndarray, num_relations: int) -> Twins:
    """Returns all pairs of relations with a pair of entities in common.

    Args:
        triples: [num_triples, 3] ids, distinct.
        num_relations: Relation ids are below it.
    """
    heads, relations, tails = triples[triples[:, 0] != triples[:, 2]].T.astype(np.int64)
    number = max(heads.max(initial=0), tails.max(initial=0)) + 1
    pairs = np.minimum(heads, tails) * number + np.maximum(heads, tails)
    # Triples of one pair of entities side by side; each with those after it.
    order = np.lexsort((relations, pairs))
    pairs, relations, forward = pairs[order], relations[order], (heads < tails)[order]
    ends = np.flatnonzero(np.diff(pairs, append=-1)) + 1
    later = np.repeat(ends, np.diff(ends, prepend=0)) - np.arange(1, len(pairs) + 1)
    some = np.repeat(np.arange(len(pairs)), later)
    other = some + 1 + _positions(later)
    key = (relations[some] * num_relations + relations[other]) * 2
    distinct, shared = np.unique(key + (forward[some] != forward[other]), return_counts=True)
    (first, second), reverse = np.divmod(distinct // 2, num_relations), distinct % 2 > 0
    # Two triples of a symmetric relation are each other's reverse, but were met once.
    shared = np.where(first == second, 2 * shared, shared)
    sizes = np.bincount(relations, minlength=num_relations)
    return Twins(first, second, reverse, shared, sizes).where(np.argsort(-shared, kind="stable"))


def _positions(counts: np.ndarray) -> np.ndarray:
    """Returns 0 to n - 1 for each n of the counts, one after another."""
    return np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)


def leakage(graph: Graph, twins: Twins) -> dict[str, dict[str, Any]]:
    """Returns the share of leaked triples, and the figures of the rule that looks them up.

    For (head, relation, ?) and (?, relation, tail) the rule answers with what the twins of train
    triples say, in no order: the rank is filtered, with the realistic tie policy, and
    an answer that no twin gives away counts 0. That makes the figures lower bounds.

    Args:
        graph: The graph.
        twins: The twin relations.

    Returns:
        For valid and test `{"num_triples", "share", "rule": {"mrr", "hits@1", "hits@10"}}`: `share`
        is the share of triples that have a twin in train.
    """
    number, proposed = graph.num_entities, twins_of(graph.train, twins)
    answers = index_tails(proposed, number)
    known = graph.index("tail", "known").contains(*proposed.T[[1, 0, 2]])
    wrong = [index_of(proposed[~known], number) for index_of in (index_tails, index_heads)]
    # Group -1, of questions without wrong answers, reads the last number.
    sizes = [np.append(index.group_sizes, 0) for index in wrong]
    found = {}
    for split in SPLITS[1:]:
        heads, relations, tails = graph.split(split).T
        leaked = answers.contains(relations, heads, tails)
        sides = zip(sizes, wrong, (heads, tails), strict=True)
        ranks = 1 + np.stack([of[index.groups(relations, given)] for of, index, given in sides]) / 2
        figures = {"mrr": (1 / ranks)} | {f"hits@{k}": ranks <= k for k in _HITS_AT}
        found[split] = {
            "num_triples": len(heads),
            "share": float(leaked.mean()),
            "rule": {name: float((value * leaked).mean()) for name, value in figures.items()},
        }
    return found


def twins_of(triples: np.ndarray, twins: Twins) -> np.ndarray:
    """Returns the twins that triples [num_triples, 3] have or would have: [n, 3], with repeats."""
    # Each pair of relations speaks both ways.
    given = np.concatenate([twins.first, twins.second])
    order = np.argsort(given, kind="stable")
    other = np.concatenate([twins.second, twins.first])[order]
    reverse = np.tile(twins.reverse, 2)[order]
    counts = np.bincount(given, minlength=len(twins.sizes))
    times = counts[triples[:, 1]]
    rows = np.repeat(np.arange(len(triples)), times)
    heads, relations, tails = triples[rows].T
    links = (np.cumsum(counts) - counts)[relations] + _positions(times)
    back = reverse[links]
    ends = np.where(back, tails, heads), np.where(back, heads, tails)
    return np.stack([ends[0], other[links], ends[1]], axis=1)
