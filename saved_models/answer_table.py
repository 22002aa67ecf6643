"""Which entities may answer a query: all, those not yet known, those of the right type."""

from collections.abc import Callable

import numpy as np
import tensorflow as tf

from quatre_tf.data.candidate_sets import SlotEntities
from quatre_tf.data.known_triples import KnownTriples
from quatre_tf.ranking.entity_lists import Tile, mask_members, member_masks


class AnswerTable(tf.Module):
    """Known answers and types of one side, as the sorted lists of `quatre_tf.ranking`.

    Args:
        known: The known answers of each (relation, entity at the other side).
        slot: The entities that train has in this slot of each relation.
        name: Name of the variables.

    Attributes:
        known_keys: Variable `[known]` int64, lists of known answers.
    """

    def __init__(self, known: KnownTriples, slot: SlotEntities, name: str):
        super().__init__(name=name)
        self._num_entities = slot.num_entities
        self._groups = tf.Variable(known.keys, trainable=False, name="groups")
        self.known_keys = tf.Variable(known.list_keys, trainable=False, name="known_keys")
        self._slot_keys = tf.Variable(slot.keys, trainable=False, name="slot_keys")

    def known_lists(
        self, relations: tf.Tensor, entities: tf.Tensor, wanted: tf.Tensor | bool = True
    ) -> tf.Tensor:
        """Returns the list of known answers of int64 ids `[batch]`, -1 for none: `[batch]` int64.

        All are -1 unless the scalar `wanted` is true.
        """
        keys = relations * self._num_entities + entities
        places = tf.searchsorted(self._groups, tf.concat([keys, keys + 1], 0), out_type=tf.int64)
        here, after = tf.split(places, 2)
        return tf.where((here < after) & wanted, here, -1)

    def mask_scores(
        self,
        relations: tf.Tensor,
        entities: tf.Tensor,
        filtered: tf.Tensor,
        type_constrained: tf.Tensor,
    ) -> Callable[[tf.Tensor, Tile], tf.Tensor]:
        """Returns the `mask_scores` of `quatre_tf.ranking.tiles.top_k` for queries `[batch]`.

        Args:
            relations: `[batch]` int64.
            entities: `[batch]` int64, the entity that is given.
            filtered: Scalar: leave out known answers.
            type_constrained: Scalar: leave out what train does not have in the slot.
        """
        known_lists = self.known_lists(relations, entities, filtered)
        # Queries share the list of their relation: it can be most of the entities.
        slots, places = tf.unique(relations)

        def mask(scores: tf.Tensor, tile: Tile) -> tf.Tensor:
            scores = mask_members(scores, self.known_keys, known_lists, tile)

            def in_slot() -> tf.Tensor:
                # Row 0 of the masks has all entities.
                masks = tf.gather(member_masks(self._slot_keys, slots, tile), places + 1)
                return tf.where(tf.transpose(masks) > 0, scores, -np.inf)

            return tf.cond(type_constrained, in_slot, lambda: scores)

        return mask
