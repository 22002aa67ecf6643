"""What lies around an entity: its facts in the graph, its neighbours among the embeddings."""

import numpy as np

from quatre_tf.data.encoding import SPLITS
from quatre_tf.data.graph import Graph
from quatre_tf.model import KGEModel

_HEAD, _RELATION, _TAIL = range(3)
# Below the length of any trained row.
_TINY = np.float32(1e-30)


class Surroundings:
    """Looks up facts and neighbours, each by one pass over all triples or embeddings.

    Args:
        model: For the embeddings of its entities.
        graph: The graph that it was trained on.
    """

    def __init__(self, model: KGEModel, graph: Graph):
        self._graph, self._triples = graph, graph.known
        self._num_relations = graph.num_relations
        self._table = model.entities.embeddings.numpy()
        squares = np.einsum("nw,nw->n", self._table, self._table)
        self._lengths = np.maximum(np.sqrt(squares), _TINY)

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

    def neighbours(self, entity: int, count: int) -> list[tuple[int, float]]:
        """Returns ids and cosines of the other entities whose embeddings are most alike.

        A row of zeros has the cosine 0 with every other.
        """
        cosines = self._table @ self._table[entity] / self._lengths / self._lengths[entity]
        cosines[entity] = -np.inf
        count = min(count, len(cosines) - 1)
        best = np.argpartition(-cosines, np.arange(count))[:count]
        return [(int(other), float(np.clip(cosines[other], -1, 1))) for other in best]
