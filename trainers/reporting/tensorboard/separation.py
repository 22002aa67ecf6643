"""True triples against corrupted ones: how far apart a model scores the two."""

import numpy as np

from quatre_tf.data.graph import Graph
from quatre_tf.data.negatives import Corruption
from quatre_tf.model import KGEModel

NUM_TRIPLES = 1024


class LabelledTriples:
    """Triples of the validation split, and each of them corrupted; the same ones at every call.

    A coin chooses the side, and an entity takes its place, every one as likely that makes no triple
    of any split.

    Args:
        graph: The graph.
        seed: Of the sample and the corruption.

    Raises:
        DataError: A triple can be corrupted at neither side.
    """

    def __init__(self, graph: Graph, seed: int):
        rng = np.random.default_rng(seed)
        number = min(NUM_TRIPLES, len(graph.valid))
        rows = np.sort(rng.choice(len(graph.valid), number, replace=False))
        corruption = Corruption(graph, "uniform", "known")
        entities, tail_corrupted = (
            drawn.numpy()[:, 0]
            for drawn in corruption.corrupt(len(graph.train) + rows, *rng.random((2, number, 1)))
        )
        self.true = np.asarray(graph.valid[rows])
        self.corrupted = self.true.copy()
        self.corrupted[np.arange(number), 2 * tail_corrupted] = entities

    def scores(self, model: KGEModel) -> tuple[np.ndarray, np.ndarray]:
        """Returns the scores of the true and of the corrupted triples, each `[n]`."""
        true, corrupted = (
            model.score_triples(*np.ascontiguousarray(triples.T)).numpy()
            for triples in (self.true, self.corrupted)
        )
        return true, corrupted


def area_under_curve(true: np.ndarray, corrupted: np.ndarray) -> float:
    """Returns how often a true triple scores above a corrupted one; equal scores count one half.

    It is the area under the ROC curve (the statistic of Mann and Whitney over the number of pairs).

    Args:
        true: `[n]` scores, at least one.
        corrupted: `[m]` scores, at least one.
    """
    corrupted = np.sort(corrupted)
    below = np.searchsorted(corrupted, true, side="left")
    not_above = np.searchsorted(corrupted, true, side="right")
    return float((below + not_above).mean() / (2 * len(corrupted)))
