"""Metrics of parts of a split: by relation, by category of the relation, with unseen entities.

Every part is a mask over the same per-triple contributions (`SplitRanks.values`), so nothing is
ranked again.
"""

from collections.abc import Iterator

import numpy as np

from quatre_tf.data.graph import Graph
from quatre_tf.data.relation_categories import CATEGORIES, heads_and_tails, relation_categories
from quatre_tf.ranking.results import AMRI, Row
from quatre_tf.ranking.split_ranks import SIDES, SplitRanks


class Breakdowns:
    """Divides the ranking of a split.

    Args:
        ranks: The ranking.
        graph: Its graph.
        tie_policy: How equal scores count.
        seed: Of the intervals; None: none are computed.
    """

    def __init__(self, ranks: SplitRanks, graph: Graph, tie_policy: str, seed: int | None = None):
        self._ranks, self._graph, self._tie_policy = ranks, graph, tie_policy
        self._values, self._seed = ranks.values(tie_policy), seed

    def by_relation(self) -> Iterator[Row]:
        """Yields the rows of each relation of the split, the most frequent first."""
        relations = self._ranks.triples[:, 1]
        sizes = np.bincount(relations, minlength=self._graph.num_relations)
        for relation in np.argsort(-sizes, kind="stable")[: np.count_nonzero(sizes)]:
            name = self._graph.relations.names[relation]
            yield from self._part(relations == relation, "relation", name)

    def by_category(self) -> Iterator[Row]:
        """Yields the rows of each category of relations that has triples.

        `"category"` counts heads per tail and tails per head over all splits, as the reference
        does; `"train_category"` over train, where a relation that train does not have has none.
        """
        relations, graph = self._ranks.triples[:, 1], self._graph
        for group_by, split in (("category", "known"), ("train_category", "train")):
            tails, heads = graph.index("tail", split), graph.index("head", split)
            means = heads_and_tails(tails, heads, graph.num_relations)
            categories = relation_categories(means)[relations]
            for number, name in enumerate(CATEGORIES):
                yield from self._part(categories == number, group_by, name)

    def unseen_entities(self) -> Iterator[Row]:
        """Yields the rows of the triples with an entity that train does not have, if any."""
        seen = np.zeros(self._graph.num_entities, bool)
        seen[self._graph.train[:, [0, 2]]] = True
        unseen = ~seen[self._ranks.triples[:, [0, 2]]].all(axis=1)
        yield from self._part(unseen, "entities", "unseen")

    def _part(self, chosen: np.ndarray, group_by: str, group: str) -> list[Row]:
        if not chosen.any():
            return []
        return self._ranks.rows(
            self._values[chosen],
            self._tie_policy,
            seed=self._seed,
            group_by=group_by,
            group=str(group),
        )


def adjusted_mean_rank_index(ranks: SplitRanks, tie_policy: str) -> Iterator[Row]:
    """Yields a row per candidate set and side: 1 for perfect ranks, 0 for random ones.

    `1 - (mean rank - 1) / (expected mean rank - 1)`: random scores put the answer in the middle of
    its candidates on average, so each query counts with its number of competitors. That makes mean
    ranks of candidate sets of different sizes comparable. Ranks worse than random ones are
    negative. There is no row where no answer has a competitor.

    References:
        - Berrendorf, Faerman, Vermue and Tresp, On the Ambiguity of Rank-Based Evaluation of Entity
          Alignment or Link Prediction Methods, 2020
    """
    for name in ranks.candidates:
        behind = {s: (ranks.ranks(name, s, tie_policy) - 1).sum() for s in SIDES[1:]}
        expected = {s: ranks.counts[name][s].competitors.sum() / 2 for s in SIDES[1:]}
        for sums in (behind, expected):
            sums["both"] = sums["head"] + sums["tail"]
        for side in SIDES:
            if expected[side]:
                value = float(1 - behind[side] / expected[side])
                place = (ranks.split, tie_policy, name, side, len(ranks.triples))
                yield Row(*place, AMRI, value)
