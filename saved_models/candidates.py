"""Which entities may answer a question: all, those not yet known, those of the right type."""

from collections.abc import Callable

import numpy as np
import tensorflow as tf

from quatre_tf.data.candidate_sets import SlotEntities
from quatre_tf.data.known_triples import KnownTriples
from quatre_tf.ranking.ranks import lookup_known


class AnswerTable(tf.Module):
    """What data say about the answers on one side, as CSR variables.

    Args:
        known: The known answers of each (relation, entity at the other side).
        slot: The entities that train has in this slot of each relation.
        num_relations: Number of relations.
        name: Name of the variables.
    """

    def __init__(self, known: KnownTriples, slot: SlotEntities, num_relations: int, name: str):
        super().__init__(name=name)
        self._num_entities = slot.num_entities
        self._known_keys = _variable("known_keys", known.keys)
        self._known_splits = _variable("known_splits", known.row_splits)
        self._known = _variable("known", known.entities)
        first_keys = np.arange(num_relations + 1, dtype=np.int64) * slot.num_entities
        self._slot_splits = _variable("slot_splits", np.searchsorted(slot.keys, first_keys))
        self._slot = _variable("slot", (slot.keys % slot.num_entities).astype(np.int32))

    def known(
        self, relations: tf.Tensor, entities: tf.Tensor, wanted: tf.Tensor | bool = True
    ) -> tf.RaggedTensor:
        """Returns the known answers `[batch, None]` int32 for int64 ids `[batch]`.

        The rows are empty unless the scalar `wanted` is true.
        """
        keys = relations * self._num_entities + entities
        # No question has the key -1.
        keys = tf.where(wanted, keys, -1)
        return lookup_known(self._known_keys, self._known_splits, self._known, keys)

    def slot(self, relations: tf.Tensor, wanted: tf.Tensor | bool = True) -> tf.RaggedTensor:
        """Returns the entities of the slot `[batch, None]` int32; empty rows as in `known`."""
        starts = tf.gather(self._slot_splits, relations)
        limits = tf.where(wanted, tf.gather(self._slot_splits, relations + 1), starts)
        indices = tf.ragged.range(starts, limits)
        return indices.with_flat_values(tf.gather(self._slot, indices.flat_values))

    def admit(
        self,
        relations: tf.Tensor,
        entities: tf.Tensor,
        filtered: tf.Tensor,
        type_constrained: tf.Tensor,
    ) -> Callable[[tf.Tensor, tf.Tensor], tf.Tensor]:
        """Returns the `admit(scores, start)` of `EntityTable.top_k` for questions `[batch]`.

        Args:
            relations: `[batch]` int64.
            entities: `[batch]` int64, the entity that is given.
            filtered: Scalar: leave out known answers.
            type_constrained: Scalar: leave out what train does not have in the slot.
        """
        known = _Lists(self.known(relations, entities, filtered), self._num_entities)
        # Questions share the list of their relation: it can be most of the entities.
        distinct, lists = tf.unique(relations)
        slots = _Lists(self.slot(distinct, type_constrained), self._num_entities)

        def admit(scores: tf.Tensor, start: tf.Tensor) -> tf.Tensor:
            limit = start + tf.shape(scores)[1]
            places = known.inside(start, limit)
            nothing = tf.fill(tf.shape(places)[:1], -np.inf)
            scores = tf.tensor_scatter_nd_update(scores, places, nothing)
            return tf.cond(
                type_constrained,
                lambda: tf.where(tf.gather(slots.mask(start, limit), lists), scores, -np.inf),
                lambda: scores,
            )

        return admit


class _Lists:
    """Lists of entities, from which ranges of ids are read.

    Args:
        lists: `[num_lists, None]`, each ascending.
        num_entities: All ids are below it.
    """

    def __init__(self, lists: tf.RaggedTensor, num_entities: int):
        entities = tf.cast(lists.flat_values, tf.int64)
        # Ascending over all lists: one binary search finds the bounds in each of them.
        self._keys = tf.cast(_list_ids(lists), tf.int64) * num_entities + entities
        self._firsts = tf.range(lists.nrows()) * num_entities

    def inside(self, start: tf.Tensor, limit: tf.Tensor) -> tf.Tensor:
        """Returns (list, entity - start) `[found, 2]` int64 with start <= entity < limit."""
        start, limit = tf.cast(start, tf.int64), tf.cast(limit, tf.int64)
        wanted = tf.concat([self._firsts + start, self._firsts + limit], axis=0)
        indices = tf.ragged.range(*tf.split(tf.searchsorted(self._keys, wanted), 2))
        lists = _list_ids(indices)
        entities = tf.gather(self._keys, indices.flat_values) - tf.gather(self._firsts, lists)
        return tf.stack([tf.cast(lists, tf.int64), entities - start], axis=1)

    def mask(self, start: tf.Tensor, limit: tf.Tensor) -> tf.Tensor:
        """Returns `[num_lists, limit - start]` bool: whether the list has the entity."""
        places = self.inside(start, limit)
        shape = tf.stack([tf.size(self._firsts), limit - start])
        listed = tf.fill(tf.shape(places)[:1], True)
        return tf.scatter_nd(places, listed, tf.cast(shape, tf.int64))


def _list_ids(lists: tf.RaggedTensor) -> tf.Tensor:
    """Returns the list of each value: `[num_values]` int32."""
    # `value_rowids` of what `tf.ragged.range` made takes `[num_lists, longest list]`.
    places = tf.range(tf.size(lists.flat_values), dtype=lists.row_splits.dtype)
    return tf.searchsorted(lists.row_splits[1:], places, side="right")


def _variable(name: str, values: np.ndarray) -> tf.Variable:
    return tf.Variable(values, trainable=False, name=name)
