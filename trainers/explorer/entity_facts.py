"""The facts of an entity."""

import numpy as np

from quatre_tf.data.encoding import SPLITS
from quatre_tf.data.graph import Graph

_HEAD, _RELATION, _TAIL = range(3)


class EntityFacts:
    """Looks up facts by one pass over all triples.

    Args:
        graph: The graph.
    """

    def __init__(self, graph: Graph):
        self._graph, self._triples = graph, graph.known
        self._num_relations = graph.num_relations

    def facts(self, entity: int) -> np.ndarray:
        """Returns the distinct facts of an entity: `[n, 3]` ids, those with it as head first."""
        heads, _, tails = self._triples.T
        facts = np.unique(self._triples[(heads == entity) | (tails == entity)], axis=0)
        keys = facts[:, _TAIL], facts[:, _HEAD], facts[:, _RELATION], facts[:, _HEAD] != entity
        return facts[np.lexsort(keys)]

    def splits(self, facts: np.ndarray) -> list[str]:
        """Returns the first split that holds each of `facts` `[n, 3]`."""
        return [SPLITS[split] for split in self._graph.first_splits(facts)]

    def relation_counts(self, facts: np.ndarray, entity: int) -> dict[str, np.ndarray]:
        """Returns how many of the facts of an entity answer a question about it.

        Args:
            facts: As of `facts`.
            entity: Its id.

        Returns:
            By the place that is asked for, `"tail"` and `"head"`: `[num_relations]`.
        """
        places = {"tail": _HEAD, "head": _TAIL}
        return {
            asked: np.bincount(
                facts[facts[:, given] == entity, _RELATION], minlength=self._num_relations
            )
            for asked, given in places.items()
        }
