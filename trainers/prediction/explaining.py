"""Evidence for predictions: the most similar known facts, which are not causes.

For the tail t of (h, r, ?): the entities t' that train has as tails of r and whose embeddings have
the largest cosines with that of t; and for each of them the fact (h', r, t') of train whose head
has the largest cosine with h. t' may be t, and h' may be h, with a cosine of 1; but the predicted
fact is no evidence for itself. For heads the same, the other way round.
"""

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np

from quatre_tf.data.graph import Graph
from quatre_tf.data.known_triples import KnownTriples
from quatre_tf.model import KGEModel
from quatre_tf.ranking.cosines import Cosines

# Cosines held at once: 16 MiB.
_TILE = 1 << 22

# Ids of what is given and of the answer, and the cosines of the answer and of what is given.
_Pair: TypeAlias = tuple[int, int, tuple[float, float]]


class Explainer:
    """Finds evidence in train.

    Args:
        model: The model, for the embeddings of its entities.
        graph: The graph that it was trained on.
    """

    def __init__(self, model: KGEModel, graph: Graph):
        self._graph, self._table = graph, model.entities.embeddings.numpy()
        # By the entity in the predicted place: the entities in the other one.
        self._index = {"tail": graph.index("head", "train"), "head": graph.index("tail", "train")}

    def explain(self, asked: str, facts: np.ndarray, count: int) -> list[list[dict[str, Any]]]:
        """Returns for each predicted fact at most `count` known ones, the most similar first.

        Args:
            asked: `"tail"` or `"head"`: which of the entities was predicted.
            facts: `[n, 3]` ids of the predicted triples.
            count: How many, at least 1.

        Returns:
            Dictionaries with the names `relation`, `head` and `tail`; the labels `head_label` and
            `tail_label`, or None; `answer_similarity`, the cosine of the entity in the predicted
            place with the answer; and `given_similarity`, that of the other entity with the one
            that was given.
        """
        found: list[list[dict[str, Any]]] = [[]] * len(facts)
        ends = facts[:, [0, 2]] if asked == "tail" else facts[:, [2, 0]]
        for relation in np.unique(facts[:, 1]):
            known = _KnownPairs(self._table, self._index[asked].of_relation(int(relation)))
            rows = np.flatnonzero(facts[:, 1] == relation)
            for row, pairs in zip(rows, known.nearest(ends[rows], count), strict=True):
                found[row] = [self._evidence(asked, relation, *pair) for pair in pairs]
        return found

    def _evidence(
        self, asked: str, relation: int, given: int, answer: int, similarities: tuple[float, float]
    ) -> dict[str, Any]:
        head, tail = (given, answer) if asked == "tail" else (answer, given)
        return {
            "relation": self._graph.relations.names[relation],
            **named_ends(self._graph, head, tail),
            "answer_similarity": similarities[0],
            "given_similarity": similarities[1],
        }


def named_ends(graph: Graph, head: int, tail: int) -> dict[str, str | None]:
    """Returns the columns `head`, `head_label`, `tail` and `tail_label` of two entities."""
    cells: dict[str, str | None] = {}
    for end, name in zip(("head", "tail"), graph.entities.names[[head, tail]], strict=True):
        cells |= {end: name, f"{end}_label": graph.entity_lookup.label(name)}
    return cells


class _KnownPairs:
    """The pairs (given, answer) that train has of one relation.

    Args:
        table: `[num_entities, width]` embeddings.
        index: By answer, what is given; of one relation.
    """

    def __init__(self, table: np.ndarray, index: KnownTriples):
        self._answers = index.keys
        self._givens, places = np.unique(index.entities, return_inverse=True)
        # Of each answer, the places of what is given among `_givens`.
        self._places = np.split(places, index.row_splits[1:-1])
        self._given_cosines = Cosines(table, self._givens)
        self._answer_cosines = Cosines(table, self._answers)

    def nearest(self, ends: np.ndarray, count: int) -> Iterator[list[_Pair]]:
        """Yields the pairs most like each of `ends` `[n, 2]`, with the cosines of both entities.

        The products with all known entities of the relation are taken for as many of `ends` at once
        as keep the memory bounded.
        """
        tile = max(1, _TILE // max(len(self._answers), len(self._givens), 1))
        # One more than wanted: the answer itself may have no other fact.
        k = count + 1
        for start in range(0, len(ends), tile):
            part = ends[start : start + tile]
            given_cosines = self._given_cosines.of(part[:, 0])
            cosines, nearest = self._answer_cosines.nearest(part[:, 1], k)
            for row in range(len(part)):
                given, answer = part[row]
                pairs = self._pairs(given, answer, given_cosines[row], cosines[row], nearest[row])
                yield list(pairs)[:count]

    def _pairs(
        self,
        given: int,
        answer: int,
        given_cosines: np.ndarray,
        cosines: np.ndarray,
        nearest: np.ndarray,
    ) -> Iterator[_Pair]:
        """Yields of each of the nearest answers the pair whose given entity is most similar."""
        for cosine, place in zip(cosines, nearest, strict=True):
            places = self._places[place]
            if self._answers[place] == answer:
                places = places[self._givens[places] != given]
            if len(places):
                best = places[np.argmax(given_cosines[places])]
                similarities = float(cosine), float(given_cosines[best])
                yield self._givens[best], self._answers[place], similarities
