"""Corrupted triples: for each positive, triples that are not in the training split.

The sampling is exact. Let a positive (h, r, t) have its tail replaced, and let the split know the
tails c_0 < c_1 < ... < c_{k-1} of (h, r). A number u is drawn uniformly from [0, num_entities - k)
and shifted past the known ones: the answer is u + |{i : c_i - i <= u}|. For c_i - i is how many
unknown entities lie below c_i; it never decreases with i, so the count is a binary search; and with
`group * num_entities + (c_i - i)` of all groups in one array, one search serves a whole batch.
There is no rejection and no loop: the cost is the same whatever the graph looks like.
"""

from typing import Literal, get_args

import numpy as np
import tensorflow as tf

from quatre_tf.data.graph import Graph
from quatre_tf.data.known_triples import KnownTriples
from quatre_tf.errors import DataError

CorruptionMode = Literal["bern", "uniform"]

# Positions in the known triples of both sides are int32, here and in tf.searchsorted.
_MAX_TRIPLES = np.iinfo(np.int32).max // 2


class Corruption:
    """Replaces heads or tails of triples, so that the result is not among them.

    For n triples the tables take 12 n bytes for the triples, 8 n for their groups, up to 16 n for
    the known entities of both sides, and 8 for each distinct (relation, head) and (relation, tail).

    Args:
        graph: The graph.
        mode: How the side is chosen, see `tail_probabilities`.
        split: Negatives are no triples of this split, or of any split if it is "known".
        triples: Triples of the split that may be corrupted, `[n, 3]`. Default: all of them.

    Raises:
        DataError: When a triple can be corrupted at neither side, or the mode is unknown.
    """

    def __init__(
        self,
        graph: Graph,
        mode: CorruptionMode = "bern",
        split: str = "train",
        triples: np.ndarray | None = None,
    ):
        if triples is None:
            triples = graph.known if split == "known" else graph.split(split)
        if len(triples) > _MAX_TRIPLES:
            raise DataError(
                f"Expected at most {_MAX_TRIPLES:,} triples, received {len(triples):,}."
            )
        tails, heads = graph.index("tail", split), graph.index("head", split)
        # The groups of both sides are numbered through: first (relation, head), whose tails are
        # known, then (relation, tail). So one search serves negatives of either side.
        group_sizes = np.concatenate([tails.group_sizes, heads.group_sizes])
        groups = _groups(triples, tails, heads)
        num_entities = self._num_entities = graph.num_entities
        _check_corruptible(triples, num_entities - group_sizes[groups])
        probabilities = tail_probabilities(tails, heads, graph.num_relations, mode)
        with tf.device("CPU"):
            self._triples = tf.constant(triples, tf.int32)
            self._groups = tf.constant(groups, tf.int32)
            self._tail_probability = tf.constant(probabilities, tf.float64)
            self._num_unknown = tf.constant(num_entities - group_sizes, tf.int32)
            self._group_starts = tf.constant(np.cumsum(group_sizes) - group_sizes, tf.int32)
            self._shifts = tf.constant(_shifts(tails, heads), tf.int64)

    @property
    def num_triples(self) -> int:
        """Number of triples that may be corrupted."""
        return self._triples.shape[0]

    def positives(self, rows: tf.Tensor) -> tf.Tensor:
        """Returns triples by their position: [batch] -> [batch, 3] int32."""
        return tf.gather(self._triples, rows)

    def corrupt(
        self, rows: tf.Tensor, side_uniforms: tf.Tensor, entity_uniforms: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns negatives of some triples; a pure function of its arguments.

        Args:
            rows: [batch] int, positions of the positives in the split.
            side_uniforms: [batch, num_negatives] float64 in [0, 1): choose the side.
            entity_uniforms: [batch, num_negatives] float64 in [0, 1): choose the entity. Their 52
                random bits make the bias below num_entities / 2^52, 3e-8 at 10^8 entities.

        Returns:
            corrupted: [batch, num_negatives] int32, the entity put in the place of head or tail.
            tail_corrupted: [batch, num_negatives] bool, whether it stands for the tail.
        """
        relations = tf.gather(self._triples[:, 1], rows)
        groups = tf.gather(self._groups, rows)
        num_unknown = tf.gather(self._num_unknown, groups)
        threshold = tf.gather(self._tail_probability, relations)
        # Where every entity is known at one side, the other side is corrupted.
        threshold = tf.where(num_unknown[:, 0] == 0, tf.zeros_like(threshold), threshold)
        threshold = tf.where(num_unknown[:, 1] == 0, tf.ones_like(threshold), threshold)
        tail_corrupted = side_uniforms < threshold[:, tf.newaxis]

        def of_side(per_positive: tf.Tensor) -> tf.Tensor:
            """[batch, 2] of tail and head side -> [batch, num_negatives] of the chosen side."""
            return tf.where(tail_corrupted, per_positive[:, :1], per_positive[:, 1:])

        unknown = of_side(tf.cast(num_unknown, tf.float64))
        drawn = tf.cast(entity_uniforms * unknown, tf.int32)
        return drawn + self._known_below(of_side(groups), drawn), tail_corrupted

    def _known_below(self, groups: tf.Tensor, drawn: tf.Tensor) -> tf.Tensor:
        """Counts the known entities of a group to shift past: like `drawn`, int32."""
        keys = tf.cast(groups, tf.int64) * self._num_entities + tf.cast(drawn, tf.int64)
        found = tf.searchsorted(self._shifts, tf.reshape(keys, [-1]), side="right")
        return tf.reshape(found, tf.shape(drawn)) - tf.gather(self._group_starts, groups)


def tail_probabilities(
    tails: KnownTriples, heads: KnownTriples, num_relations: int, mode: CorruptionMode
) -> np.ndarray:
    """Returns the probability that the tail is the side to corrupt: [num_relations] float64.

    "uniform": one half. "bern" (Wang et al. 2014, "Knowledge graph embedding by translating on
    hyperplanes", section 3.2): hpt / (hpt + tph) with heads per tail hpt = triples / distinct tails
    and tails per head tph = triples / distinct heads of the relation. That is distinct heads /
    (distinct heads + distinct tails), so repeated triples do not matter.

    Args:
        tails: `index_tails` of the triples.
        heads: `index_heads` of the triples.
        num_relations: Number of relations; one without triples gets one half.
        mode: "bern" or "uniform".
    """
    if mode not in get_args(CorruptionMode):
        known = ", ".join(get_args(CorruptionMode))
        raise DataError(f"Unknown corruption {mode!r}. Available: {known}.")
    if mode == "uniform":
        return np.full(num_relations, 0.5)
    # Each group of `tails` is a distinct head of a relation, and the other way round.
    distinct_heads, distinct_tails = (i.groups_per_relation(num_relations) for i in (tails, heads))
    either = distinct_heads + distinct_tails
    return np.divide(distinct_heads, either, out=np.full(num_relations, 0.5), where=either > 0)


def _groups(triples: np.ndarray, tails: KnownTriples, heads: KnownTriples) -> np.ndarray:
    """Returns for each triple its group among the tails and among the heads: [n, 2] int64."""
    heads_of, relations, tails_of = triples.T
    tail_groups, head_groups = tails.groups(relations, heads_of), heads.groups(relations, tails_of)
    return np.stack([tail_groups, len(tails.keys) + head_groups], axis=1)


def _shifts(tails: KnownTriples, heads: KnownTriples) -> np.ndarray:
    """Returns group * num_entities + (c_i - i) for the known entities of both sides: [known]."""
    first_head_group = len(tails.keys) * tails.num_entities
    shifts = np.concatenate([tails.list_keys, heads.list_keys + first_head_group])
    sizes = np.concatenate([tails.group_sizes, heads.group_sizes])
    shifts += np.repeat(np.cumsum(sizes) - sizes, sizes)
    shifts -= np.arange(len(shifts))
    return shifts


def _check_corruptible(triples: np.ndarray, num_unknown: np.ndarray) -> None:
    """Raises when a triple has no unknown entity at either side; num_unknown is [n, 2]."""
    stuck = np.flatnonzero(num_unknown.max(axis=1, initial=0) == 0)
    if len(stuck):
        head, relation, tail = triples[stuck[0]]
        raise DataError(
            f"The triple (head {head}, relation {relation}, tail {tail}; ids) cannot be"
            " corrupted: with this relation every entity is a known tail of the head, and every"
            " entity a known head of the tail. Remove the relation, it tells nothing apart."
        )
