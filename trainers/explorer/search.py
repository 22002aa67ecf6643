"""Entity search as you type."""

from collections.abc import Sequence

import numpy as np
import pyarrow.compute as pc

from quatre_tf.data.graph import Graph
from quatre_tf.data.vocabulary import folded

_INSIDE, _BEGINS, _EQUAL = range(1, 4)
# Of a text inside names, which may be in most of them, as many as are looked at.
_MAX_INSIDE = 1_000


class EntitySearch:
    """Searches names and labels, whatever the case and the accents.

    There is no index: Arrow compares the beginnings of millions of names in a fraction of a second,
    and Python finds a text in one long string as fast.

    Args:
        graph: Whose entities.
    """

    def __init__(self, graph: Graph):
        names = graph.entities.names
        self._columns = [_Column(names)]
        if graph.labels:
            self._columns.append(_Column([graph.labels.get(name, "") for name in names]))
        ends = graph.known[:, [0, 2]].reshape(-1)
        self._degrees = np.bincount(ends, minlength=len(names))

    def find(self, text: str, limit: int) -> np.ndarray:
        """Returns the ids of at most `limit` entities whose name or label holds a text.

        Those that are equal to it come first, then those that begin with it, and only if these are
        fewer than `limit` others; among equals, those with more facts. To an empty text, the
        entities with most facts.
        """
        wanted = folded([" ".join(text.split())])[0].as_py()
        if not wanted:
            # Every label that is missing would be equal to it.
            return self._best(np.ones(len(self._degrees), np.int8), limit)
        fits = np.max([column.beginnings(wanted) for column in self._columns], axis=0)
        if np.count_nonzero(fits) < limit:
            for column in self._columns:
                rows = column.holding(wanted.encode())
                fits[rows] = np.maximum(fits[rows], _INSIDE)
        return self._best(fits, limit)

    def _best(self, fits: np.ndarray, limit: int) -> np.ndarray:
        found = np.flatnonzero(fits)
        keys = fits[found] * (self._degrees.max() + 1) + self._degrees[found]
        if len(found) > limit:
            # A short text fits millions: only what may be shown is sorted.
            least = np.partition(keys, -limit)[-limit]
            found, keys = found[keys >= least], keys[keys >= least]
        return found[np.argsort(-keys, kind="stable")[:limit]]


class _Column:
    """Texts as `folded` returns them, one an entity; some may be empty."""

    def __init__(self, texts: Sequence[str] | np.ndarray):
        self._texts = folded(texts)
        _, offsets, content = self._texts.buffers()
        self._offsets = np.frombuffer(offsets, np.int64)[: len(self._texts) + 1]
        self._content = content.to_pybytes()

    def beginnings(self, wanted: str) -> np.ndarray:
        """Returns `_EQUAL`, `_BEGINS` or 0 for each text: `[num_texts]` int8."""
        begins, equal = (
            fit(self._texts, wanted).to_numpy(zero_copy_only=False).view(np.int8)
            for fit in (pc.starts_with, pc.equal)
        )
        return begins * np.int8(_BEGINS) + equal * np.int8(_EQUAL - _BEGINS)

    def holding(self, wanted: bytes) -> list[int]:
        """Returns the rows of the first `_MAX_INSIDE` texts that hold a text."""
        rows: list[int] = []
        at = self._content.find(wanted)
        while at >= 0 and len(rows) < _MAX_INSIDE:
            row = int(np.searchsorted(self._offsets, at, side="right")) - 1
            limit = int(self._offsets[row + 1])
            # The end of one text and the beginning of the next may make it, too.
            if at + len(wanted) <= limit:
                rows.append(row)
            at = self._content.find(wanted, max(at + 1, limit - len(wanted) + 1))
        return rows
