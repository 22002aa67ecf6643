"""Cosines between embeddings."""

import numpy as np
import tensorflow as tf

# Below the length of any trained row.
_TINY = np.float32(1e-30)


class Cosines:
    """Cosines between rows of a table and candidate rows; 0 where a row is all zeros.

    Args:
        table: `[num_rows, width]`.
        candidates: Ids `[m]` of the rows that others are compared with, or a slice of the table.
    """

    def __init__(self, table: np.ndarray, candidates: np.ndarray | slice = slice(None)):
        self._table, self._candidates = table, table[candidates]
        self._lengths = _lengths(self._candidates)

    def of(self, ids: np.ndarray) -> np.ndarray:
        """Returns the cosines `[n, m]` of rows `[n]` with all candidates."""
        # Answers to one question share the given entity.
        distinct, places = np.unique(ids, return_inverse=True)
        rows = self._table[distinct]
        cosines = (rows @ self._candidates.T) / _lengths(rows)[:, np.newaxis] / self._lengths
        # Rounding may pass 1.
        return np.clip(cosines, -1, 1, out=cosines)[places]

    def nearest(self, ids: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns the largest cosines of rows `[n]`, and the places of these candidates.

        Both are `[n, min(k, m)]`, best first; of equal cosines the first candidate comes first.
        """
        cosines, places = tf.math.top_k(self.of(ids), min(k, len(self._candidates)))
        return cosines.numpy(), places.numpy()


def _lengths(rows: np.ndarray) -> np.ndarray:
    # Row by row: a square of all elements would be one more copy of the table.
    return np.maximum(np.sqrt(np.einsum("nw,nw->n", rows, rows)), _TINY)
