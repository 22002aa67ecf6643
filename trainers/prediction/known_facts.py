"""Which split holds a triple, for many triples at once."""

import numpy as np

from quatre_tf.data.encoding import SPLITS
from quatre_tf.data.graph import Graph
from quatre_tf.errors import DataError


class KnownFacts:
    """The triples of all splits, as sorted keys.

    Args:
        graph: The graph.

    Raises:
        DataError: The keys do not fit into 64 bits.
    """

    def __init__(self, graph: Graph):
        self._sizes = graph.num_relations, graph.num_entities
        if graph.num_entities**2 * graph.num_relations > np.iinfo(np.int64).max:
            raise DataError(f"{graph.name} is too large: its triples have no keys of 64 bits.")
        keys = self._key(graph.known)
        # Stable: of a triple in several splits, the first one is found.
        order = np.argsort(keys, kind="stable")
        self._keys = keys[order]
        lengths = [len(graph.split(split)) for split in SPLITS]
        self._splits = np.repeat(np.arange(len(SPLITS)), lengths)[order]

    def splits(self, triples: np.ndarray) -> np.ndarray:
        """Returns the index into `SPLITS` of the first split that has it, or -1: `[n]`.

        Args:
            triples: `[n, 3]` ids.
        """
        wanted = self._key(triples)
        places = np.searchsorted(self._keys, wanted)
        places = np.minimum(places, len(self._keys) - 1)
        return np.where(self._keys[places] == wanted, self._splits[places], -1)

    def _key(self, triples: np.ndarray) -> np.ndarray:
        num_relations, num_entities = self._sizes
        heads, relations, tails = triples.astype(np.int64).T
        return (heads * num_relations + relations) * num_entities + tails
