"""Entity search as you type."""

import functools

import numpy as np
import pyarrow.compute as pc

from quatre_tf.data.graph import Graph
from quatre_tf.data.vocabulary import folded

# By how well they fit.
_FITS = (pc.match_substring, pc.starts_with, pc.equal)


class EntitySearch:
    """Searches names and labels, whatever the case and the accents.

    There is no index: Arrow searches millions of names in a fraction of a second.

    Args:
        graph: Whose entities.
    """

    def __init__(self, graph: Graph):
        names = graph.entities.names
        self._columns = [folded(names)]
        if graph.labels:
            self._columns.append(folded([graph.labels.get(name, "") for name in names]))
        ends = graph.known[:, [0, 2]].reshape(-1)
        self._degrees = np.bincount(ends, minlength=len(names))

    def find(self, text: str, limit: int) -> np.ndarray:
        """Returns the ids of at most `limit` entities whose name or label holds a text.

        Those that are equal to it come first, then those that begin with it, then others; among
        equals, those with more facts. To an empty text, the entities with most facts.
        """
        wanted = folded([" ".join(text.split())])[0].as_py()
        if not wanted:
            # Every label that is missing would be equal to it.
            return self._best(np.ones(len(self._degrees), np.int8), limit)
        levels = (
            sum(fit(column, wanted).to_numpy(zero_copy_only=False).view(np.int8) for fit in _FITS)
            for column in self._columns
        )
        return self._best(functools.reduce(np.maximum, levels), limit)

    def _best(self, fits: np.ndarray, limit: int) -> np.ndarray:
        found = np.flatnonzero(fits)
        keys = fits[found].astype(np.int64) * (self._degrees.max() + 1) + self._degrees[found]
        if len(found) > limit:
            # A short text fits millions: only what may be shown is sorted.
            least = np.partition(keys, -limit)[-limit]
            found, keys = found[keys >= least], keys[keys >= least]
        return found[np.argsort(-keys, kind="stable")[:limit]]
