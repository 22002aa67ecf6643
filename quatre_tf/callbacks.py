"""Filtered ranking as a Keras callback."""

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from quatre_tf.data.known_triples import index_heads, index_tails
from quatre_tf.metrics import rank_metrics
from quatre_tf.model import KGEModel
from quatre_tf.ranking.counting import TIE_POLICIES, ranks_from_counts
from quatre_tf.ranking.sides import RankingSide
from quatre_tf.ranking.tile_runner import TileRunner
from quatre_tf.validation import check_choice, describe

_HEAD, _RELATION, _TAIL = range(3)


class FilteredRanking(keras.callbacks.Callback):
    """Ranks triples among all entities, both sides, at the end of every epoch.

    It adds `val_mr`, `val_mrr`, `val_hits@1`, `val_hits@3` and `val_hits@10` to the logs, means
    over both sides. Callbacks that read them (`EarlyStopping(monitor="val_mrr", mode="max")`,
    `ModelCheckpoint`, `CSVLogger`, `TensorBoard`) come after it in the list.

    Args:
        triples: `[num_triples, 3]` ids of head, relation, tail: those that are ranked.
        known_triples: `[num_known, 3]`: the other answers that they give to a query do not compete
            with the ranked one. Usually all splits.
        tie_policy: How equal scores count (`quatre_tf.ranking.counting.TIE_POLICIES`).
        prefix: Of the names in the logs.

    Raises:
        ValueError: The triples are none, or not triples of ids; or the tie policy is unknown.

    Example:
        >>> ranking = FilteredRanking([[0, 0, 1]], known_triples=[[0, 0, 1], [0, 0, 2]])
        >>> model = KGEModel(num_entities=3, num_relations=1, embedding_dim=2)
        >>> sorted(ranking.figures(model))
        ['hits@1', 'hits@10', 'hits@3', 'mr', 'mrr']
    """

    def __init__(
        self,
        triples: Any,
        known_triples: Any,
        tie_policy: str = "realistic",
        prefix: str = "val_",
    ):
        super().__init__()
        self._triples = _as_triples("triples", triples)
        known = _as_triples("known_triples", known_triples)
        if not len(self._triples):
            raise ValueError("`triples` must hold at least one triple to rank. Received none.")
        self._tie_policy = check_choice("tie_policy", tie_policy, TIE_POLICIES)
        self._prefix = prefix
        self._known = known
        both = np.concatenate([self._triples, known])
        self._least_entities = int(both[:, [_HEAD, _TAIL]].max()) + 1
        self._least_relations = int(both[:, _RELATION].max()) + 1

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Adds the figures of the model in training to `logs`."""
        del epoch
        if logs is not None:
            figures = self.figures(self.model)
            logs.update({f"{self._prefix}{name}": value for name, value in figures.items()})

    def figures(self, model: KGEModel) -> dict[str, float]:
        """Returns `metrics.rank_metrics` over the ranks of both sides."""
        return rank_metrics(self.ranks(model))

    def ranks(self, model: KGEModel) -> np.ndarray:
        """Returns the ranks `[2, num_triples]` float64: of the heads, then of the tails.

        Raises:
            ValueError: The model has fewer entities or relations than the triples.
            tf.errors.InvalidArgumentError: A score is NaN or infinite.
        """
        self._check_sizes(model)
        runner = TileRunner(model, tf.distribute.get_strategy())
        table = runner.read_table()
        ranks = []
        for name, index in (("head", index_heads), ("tail", index_tails)):
            known = index(self._known, model.num_entities)
            side = RankingSide(name, model.num_entities, model.num_relations, known)
            (better,), (equal,) = runner.run(table, side, self._triples)
            ranks.append(ranks_from_counts(better, equal, self._tie_policy).numpy())
        return np.stack(ranks)

    def _check_sizes(self, model: KGEModel) -> None:
        sizes = (model.num_entities, model.num_relations)
        least = (self._least_entities, self._least_relations)
        if np.less(sizes, least).any():
            raise ValueError(
                f"The triples have ids of {least[0]} entities and {least[1]} relations at least. "
                f"Received: a model of {sizes[0]} entities and {sizes[1]} relations."
            )


def _as_triples(name: str, triples: Any) -> np.ndarray:
    """Returns `[n, 3]` int32."""
    array = np.asarray(triples)
    if array.ndim != 2 or array.shape[1] != 3 or array.dtype.kind not in "iu":
        raise ValueError(
            f"`{name}` must be integers [n, 3]: ids of head, relation, tail. "
            f"Received: {array.dtype} {list(array.shape)}."
        )
    if array.size and array.min() < 0:
        raise ValueError(f"`{name}` must hold ids from 0 on. {describe('id', int(array.min()))}")
    return array.astype(np.int32)
