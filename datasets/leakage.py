"""How much of a split can be read off train, because twins of its triples are there."""

from typing import Any

import numpy as np

from datasets.twins import Twins
from quatre_tf.data.graph import Graph
from quatre_tf.data.triple_keys import triple_keys

_HITS_AT = (1, 10)


def leakage(graph: Graph, split: str, twins: Twins) -> dict[str, Any]:
    """Returns the share of leaked triples, and the figures of the rule that looks them up.

    For (head, relation, ?) and (?, relation, tail) the rule answers with what the twins of train
    triples say, in no order: the rank is that of the project's realistic tie policy, filtered, and
    an answer that no twin gives away counts 0. That makes the figures lower bounds.

    Args:
        graph: The graph.
        split: The split that is looked at.
        twins: The twin relations.

    Returns:
        `{"num_triples", "share", "rule": {"mrr", "hits@1", "hits@10"}}`: `share` is that of the
        triples that have a twin in train.
    """
    limits = (graph.num_entities, graph.num_relations)
    triples, proposed = graph.split(split), twins_of(graph.train, twins)
    keys = triple_keys(proposed, *limits)
    leaked = np.isin(triple_keys(triples, *limits), keys)
    proposed = proposed[np.unique(keys, return_index=True)[1]]
    wrong = proposed[~np.isin(triple_keys(proposed, *limits), triple_keys(graph.known, *limits))]
    ranks = np.stack([1 + _same(triples, wrong, given, limits) / 2 for given in (0, 2)])
    figures = {"mrr": (1 / ranks)} | {f"hits@{k}": ranks <= k for k in _HITS_AT}
    return {
        "num_triples": len(triples),
        "share": float(leaked.mean()),
        "rule": {name: float((value * leaked).mean()) for name, value in figures.items()},
    }


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
    nth = np.arange(len(rows)) - np.repeat(np.cumsum(times) - times, times)
    heads, relations, tails = triples[rows].T
    links = (np.cumsum(counts) - counts)[relations] + nth
    back = reverse[links]
    ends = np.where(back, tails, heads), np.where(back, heads, tails)
    return np.stack([ends[0], other[links], ends[1]], axis=1)


def _same(
    triples: np.ndarray, others: np.ndarray, given: int, limits: tuple[int, int]
) -> np.ndarray:
    """Returns [num_triples]: how many of `others` have the same relation and entity `given`."""
    wanted, keys = (
        part[:, given].astype(np.int64) * limits[1] + part[:, 1] for part in (triples, others)
    )
    keys = np.sort(keys)
    return np.searchsorted(keys, wanted, "right") - np.searchsorted(keys, wanted, "left")
