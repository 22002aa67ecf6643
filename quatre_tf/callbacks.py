"""Filtered ranking as a Keras callback."""

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from quatre_tf.data.known_triples import KnownTriples, index_heads, index_tails
from quatre_tf.metrics import rank_metrics
from quatre_tf.model import KGEModel
from quatre_tf.ranking.ranks import TIE_POLICIES, rank_queries, ranks_from_counts
from quatre_tf.validation import check_choice, describe

_HEAD, _RELATION, _TAIL = range(3)
# Triples whose queries are made at once: memory does not grow with the split.
_SLICE = 4096


class FilteredRanking(keras.callbacks.Callback):
    """Ranks triples among all entities, both sides, at the end of every epoch.

    It adds `val_mr`, `val_mrr`, `val_hits@1`, `val_hits@3` and `val_hits@10` to the logs, means
    over both sides. Callbacks that read them (`EarlyStopping(monitor="val_mrr", mode="max")`,
    `ModelCheckpoint`, `CSVLogger`, `TensorBoard`) come after it in the list.

    Args:
        triples: `[num_triples, 3]` ids of head, relation, tail: those that are ranked.
        known_triples: `[num_known, 3]`: what they complete other than the triple ranked does not
            compete with it. Usually all splits.
        tie_policy: How equal scores count (`quatre_tf.ranking.ranks.TIE_POLICIES`).
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
        both = np.concatenate([self._triples, known])
        self._least_entities = int(both[:, [_HEAD, _TAIL]].max()) + 1
        self._least_relations = int(both[:, _RELATION].max()) + 1
        size = self._least_entities
        self._known_heads = self._known_answers(index_heads(known, size), given=_TAIL)
        self._known_tails = self._known_answers(index_tails(known, size), given=_HEAD)

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
        # A variable that was trained sparsely is copied at every read.
        table = tf.convert_to_tensor(model.entities.embeddings.value)
        slices = [
            self._ranks_of(model, table, slice(start, start + _SLICE))
            for start in range(0, len(self._triples), _SLICE)
        ]
        return np.concatenate(slices, axis=1)

    def _ranks_of(self, model: KGEModel, table: tf.Tensor, rows: slice) -> np.ndarray:
        heads, relations, tails = tf.unstack(tf.constant(self._triples[rows]), axis=1)
        sides = (
            (model.head_queries(relations, tails), heads, self._known_heads[rows]),
            (model.tail_queries(heads, relations), tails, self._known_tails[rows]),
        )
        similarity = model.score_function.similarity
        counts = [
            rank_queries(queries, table, targets, known, similarity)
            for queries, targets, known in sides
        ]
        return np.stack([ranks_from_counts(*pair, self._tie_policy).numpy() for pair in counts])

    def _known_answers(self, known: KnownTriples, given: int) -> tf.RaggedTensor:
        """Returns the known answers `[num_triples, None]` to the questions of the triples."""
        groups = known.groups(self._triples[:, _RELATION], self._triples[:, given])
        starts = known.row_splits[groups]
        limits = np.where(groups < 0, starts, known.row_splits[groups + 1])
        places = tf.ragged.range(starts, limits)
        return places.with_flat_values(
            tf.gather(known.list_keys % known.num_entities, places.flat_values)
        )

    def _check_sizes(self, model: KGEModel) -> None:
        sizes = (model.num_entities, model.num_relations)
        least = (self._least_entities, self._least_relations)
        if np.less(sizes, least).any():
            raise ValueError(
                f"The triples have ids of {least[0]} entities and {least[1]} relations at least. "
                f"Received: a model of {sizes[0]} entities and {sizes[1]} relations."
            )


def _as_triples(name: str, triples: Any) -> np.ndarray:
    """Returns `[n, 3]` int64."""
    array = np.asarray(triples)
    if array.ndim != 2 or array.shape[1] != 3 or array.dtype.kind not in "iu":
        raise ValueError(
            f"`{name}` must be integers [n, 3]: ids of head, relation, tail. "
            f"Received: {array.dtype} {list(array.shape)}."
        )
    if array.size and array.min() < 0:
        raise ValueError(f"`{name}` must hold ids from 0 on. {describe('id', int(array.min()))}")
    return array.astype(np.int64)
