"""An index of the entities for approximate answers: Faiss, if it is installed."""

import importlib
import math
from typing import Any

import numpy as np

from quatre_tf.errors import DataError
from quatre_tf.validation import check_positive

# Per list, as many rows as Faiss's k-means wants.
_TRAINING_ROWS = 64
_ROWS_AT_ONCE = 2**17
# Floats of the index have 8 bits: so many times the wanted rows are scored exactly.
_RESCORED = 4


class EntityIndex:
    """Finds answers without scoring every entity; some may be missed.

    Faiss sorts the entities into lists around 2 sqrt(num_entities) centers. A question looks
    through the lists whose centers score best (IVF with 8-bit floats by inner product), and the
    best rows found there are scored exactly.

    Args:
        rows: The embeddings `[num_entities, width]` float32, as `Run.embeddings` returns them;
            kept, not copied. The index takes another quarter of their memory.
        num_probes: How many lists a question looks through. More of them miss fewer answers and
            take longer.

    Raises:
        DataError: Faiss is not installed.
        ValueError: `num_probes` is not a positive integer.
    """

    def __init__(self, rows: np.ndarray, num_probes: int = 64):
        try:
            faiss: Any = importlib.import_module("faiss")
        except ImportError as error:
            raise DataError(
                "An index needs Faiss, which is not installed: pip install faiss-cpu."
            ) from error
        self._faiss, self._rows = faiss, rows
        self._num_probes = check_positive("num_probes", num_probes)
        lists = 2 * math.isqrt(len(rows))
        self._index = faiss.index_factory(
            rows.shape[1], f"IVF{lists},SQ8", faiss.METRIC_INNER_PRODUCT
        )
        sample = np.random.default_rng(0).permutation(len(rows))[: _TRAINING_ROWS * lists]
        self._index.train(rows[sample])
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            self._index.add(rows[start : start + _ROWS_AT_ONCE])

    def holds(self, ids: np.ndarray, rows: np.ndarray) -> bool:
        """Returns whether entities `[n]` have these rows `[n, width]`."""
        return ids.max() < len(self._rows) and np.array_equal(self._rows[ids], rows)

    def search(
        self, query: np.ndarray, k: int, excluded: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns scores `[n]` and ids `[n]` of the rows with the largest products, best first.

        Args:
            query: `[width]` float32.
            k: How many; `n` is smaller if the lists hold fewer.
            excluded: Ids that are not wanted.
        """
        parameters = self._faiss.SearchParametersIVF(
            nprobe=self._num_probes,
            sel=self._faiss.IDSelectorNot(self._faiss.IDSelectorBatch(excluded.astype(np.int64))),
        )
        wanted = min(_RESCORED * k, len(self._rows))
        _, (ids,) = self._index.search(query[np.newaxis], wanted, params=parameters)
        ids = ids[ids >= 0]
        scores = self._rows[ids] @ query
        best = np.lexsort((ids, -scores))[:k]
        return scores[best], ids[best]
