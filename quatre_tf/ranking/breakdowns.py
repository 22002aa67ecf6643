"""Figures of parts of a split: by relation, by relation category, with unseen entities.

Every part is a mask or a grouping of triples over the same per-triple contributions
(`SplitRanks.values`), so nothing is ranked again.
"""

from typing import Any

import numpy as np

from quatre_tf.data.graph import Graph
from quatre_tf.data.relation_categories import CATEGORIES, relation_categories
from quatre_tf.ranking.split_ranks import SIDES, SplitRanks


def by_relation(ranks: SplitRanks, values: np.ndarray, graph: Graph) -> dict[str, Any]:
    """Returns `{set: {relation: {"num_triples", side: metrics}}}`, the most frequent first.

    Args:
        ranks: The ranking.
        values: `SplitRanks.values`, `[n, sets, 3, 5]`.
        graph: The graph, for the names.
    """
    sizes = np.bincount(ranks.triples[:, 1], minlength=graph.num_relations)
    order = [r for r in np.argsort(-sizes, kind="stable") if sizes[r]]
    names = {graph.relations.names[r]: r for r in order}
    return _by_group(ranks, values, ranks.triples[:, 1], names)


def by_category(ranks: SplitRanks, values: np.ndarray, graph: Graph) -> dict[str, Any]:
    """Returns `{"all_splits" | "train": {set: {category: {"num_triples", side: metrics}}}}`.

    `all_splits` takes the category from the triples of all splits, as the reference does; `train`
    from train alone, where a relation that train does not have has none. A category without
    triples is left out.
    """
    sources = {"all_splits": graph.known, "train": graph.train}
    names = {name: index for index, name in enumerate(CATEGORIES)}
    return {
        source: _by_group(
            ranks,
            values,
            relation_categories(triples, graph.num_relations)[ranks.triples[:, 1]],
            names,
        )
        for source, triples in sources.items()
    }


def unseen_entities(ranks: SplitRanks, values: np.ndarray, graph: Graph) -> dict[str, Any]:
    """Returns the figures of triples with an entity that train does not have.

    Returns:
        `{"num_triples", "candidates": {set: {side: metrics}}}`; `candidates` is empty if there are
        no such triples.
    """
    seen = np.zeros(graph.num_entities, bool)
    seen[graph.train[:, [0, 2]]] = True
    chosen = ~seen[ranks.triples[:, [0, 2]]].all(axis=1)
    candidates = ranks.figures(values[chosen].mean(axis=0)) if chosen.any() else {}
    return {"num_triples": int(chosen.sum()), "candidates": candidates}


def adjusted_mean_rank_index(ranks: SplitRanks, tie_policy: str) -> dict[str, Any]:
    """Returns `{set: {side: value}}`: 1 for perfect ranks, 0 for random ones, negative for worse.

    `1 - (mean rank - 1) / (expected mean rank - 1)`: under random scores the answer is expected in
    the middle of its candidates, so each query counts with how many competitors it has. It makes
    mean ranks of candidate sets of different sizes comparable. None where nobody competes.

    References:
        - Berrendorf, Faerman, Vermue and Tresp, On the Ambiguity of Rank-Based Evaluation of Entity
          Alignment or Link Prediction Methods, 2020
    """
    result: dict[str, Any] = {}
    for name in ranks.candidates:
        behind = {s: (ranks.ranks(name, s, tie_policy) - 1).sum() for s in SIDES[1:]}
        expected = {s: ranks.counts[name][s].competitors.sum() / 2 for s in SIDES[1:]}
        for sums in (behind, expected):
            sums["both"] = sums["head"] + sums["tail"]
        result[name] = {
            side: float(1 - behind[side] / expected[side]) if expected[side] else None
            for side in SIDES
        }
    return result


def _by_group(
    ranks: SplitRanks, values: np.ndarray, groups: np.ndarray, names: dict[str, int]
) -> dict[str, Any]:
    """Returns `{set: {name: {"num_triples", side: metrics}}}` of groups `[n]` with triples."""
    result: dict[str, Any] = {name: {} for name in ranks.candidates}
    for name, group in names.items():
        chosen = groups == group
        if chosen.any():
            figures = ranks.figures(values[chosen].mean(axis=0))
            for candidates, sides in figures.items():
                result[candidates][name] = {"num_triples": int(chosen.sum()), **sides}
    return result
