"""Batches of positives and their corruptions, as a tf.data pipeline."""

import abc
import dataclasses
from collections.abc import Mapping

import tensorflow as tf

from quatre_tf.data.graph import Graph
from quatre_tf.data.negatives import Corruption, CorruptionMode


@dataclasses.dataclass(frozen=True)
class Share:
    """What a process takes of every batch: `count` of its `num_parts` parts, from part `first`.

    A part is what one replica learns from. Parts are consecutive rows; their sizes differ by one at
    the most.
    """

    num_parts: int = 1
    first: int = 0
    count: int = 1


class Batches(abc.ABC):
    """The batches of a training run: batch k is a pure function of k.

    To resume at step k needs no more than k, and every process of a cluster can make the rows that
    it needs without asking another.

    Attributes:
        batch_size: Number of rows of a batch.
    """

    batch_size: int

    @abc.abstractmethod
    def make(
        self, step: tf.Tensor, first: int | tf.Tensor, size: int | tf.Tensor
    ) -> dict[str, tf.Tensor]:
        """Returns rows `first`, ..., `first + size - 1` of batch `step`, an int64 scalar.

        With a size of type int the shapes are static. A row of a batch is the
        same whatever the sizes.
        """

    def dataset(self, start: int = 0, share: Share = Share()) -> tf.data.Dataset:
        """Returns the batches start, start + 1, ...; they never end.

        Args:
            start: Number of the first batch.
            share: Each batch comes in `share.count` elements, one after the other.
        """
        # The ORDER: the numbers of the batches come first and are the only state there is; whole
        # parts are made from them, so nothing has to be shuffled, batched or repeated; prefetch
        # comes last, to make the next batch while the model works on this one. One thread is enough
        # (map is not parallel), and leaves the other cores to the model.
        elements = tf.data.Dataset.range(start * share.count, tf.int64.max)
        make = tf.autograph.experimental.do_not_convert(self._make_element)
        batches = elements.map(lambda element: make(element, share))
        return batches.prefetch(2 * share.count).with_options(_as_written())

    def _make_element(self, element: tf.Tensor, share: Share) -> dict[str, tf.Tensor]:
        part = share.first + element % share.count
        first = part * self.batch_size // share.num_parts
        size = (part + 1) * self.batch_size // share.num_parts - first
        if self.batch_size % share.num_parts == 0:
            size = self.batch_size // share.num_parts
        return self.make(element // share.count, first, size)


class TripleBatches(Batches):
    """Positives, drawn uniformly WITH replacement as in the reference, and their corruptions.

    Batch k is a function of (graph, seed, k) and the sizes. Negatives are drawn as in
    `quatre_tf.data.negatives`.

    Args:
        graph: The graph; only its training split is used.
        batch_size: Number of positives in a batch.
        num_negatives: Number of corrupted triples for each positive.
        corruption: "bern" or "uniform", see `quatre_tf.data.negatives.tail_probabilities`.
        seed: Any integer of 64 bits.

    Raises:
        DataError: When some training triple cannot be corrupted.
    """

    def __init__(
        self,
        graph: Graph,
        *,
        batch_size: int,
        num_negatives: int,
        corruption: CorruptionMode = "bern",
        seed: int,
    ):
        self.batch_size, self._num_negatives, self._seed = batch_size, num_negatives, seed
        # Eager tensors made here are captured by reference: they do not become part of the graph.
        self._tables = Corruption(graph, corruption)

    def make(
        self, step: tf.Tensor, first: int | tf.Tensor, size: int | tf.Tensor
    ) -> dict[str, tf.Tensor]:
        """As `Batches.make`.

        Returns:
            heads, relations, tails: [size] int32, the positives;
            corrupted: [size, num_negatives] int32, entities for the place of head or tail;
            tail_corrupted: [size, num_negatives] bool, whether it is the tail's place.
        """
        # One draw for everything: a column for the positive, then its sides, then its entities; and
        # for the whole batch, so that a row does not depend on who makes it. Philox by name,
        # because the automatic choice depends on the device.
        width = 1 + 2 * self._num_negatives
        uniforms = tf.random.stateless_uniform(
            [self.batch_size, width],
            seed=tf.stack([tf.constant(self._seed, tf.int64), step]),
            dtype=tf.float64,
            alg="philox",
        )
        uniforms = tf.slice(uniforms, [first, 0], [size, width])
        positive, sides, entities = tf.split(
            uniforms, [1, self._num_negatives, self._num_negatives], axis=1
        )
        rows = tf.cast(positive[:, 0] * self._tables.num_triples, tf.int32)
        heads, relations, tails = tf.unstack(self._tables.positives(rows), axis=1)
        corrupted, tail_corrupted = self._tables.corrupt(rows, sides, entities)
        return {
            "heads": heads,
            "relations": relations,
            "tails": tails,
            "corrupted": corrupted,
            "tail_corrupted": tail_corrupted,
        }


def labelled_triples(batch: Mapping[str, tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns all triples of a batch, positives first, and their labels, for Keras' `fit`.

    Made for `tf.data.Dataset.map`.

    Args:
        batch: `heads`, `relations`, `tails` `[batch]`, `corrupted` and `tail_corrupted`
            `[batch, num_negatives]`, as the fields of `sampled_logistic.SampledBatch`.

    Returns:
        Triples `[batch * (1 + num_negatives), 3]` of head, relation and tail; labels
        `[batch * (1 + num_negatives)]` float32, +1 for the positives and -1 for the corrupted.
    """
    heads, relations, tails = (batch[name] for name in ("heads", "relations", "tails"))
    corrupted, tail_corrupted = batch["corrupted"], batch["tail_corrupted"]
    positives = tf.stack([heads, relations, tails], axis=1)
    negatives = tf.stack(
        [
            tf.where(tail_corrupted, heads[:, tf.newaxis], corrupted),
            tf.broadcast_to(relations[:, tf.newaxis], tf.shape(corrupted)),
            tf.where(tail_corrupted, corrupted, tails[:, tf.newaxis]),
        ],
        axis=-1,
    )
    labels = [tf.ones(tf.shape(heads)), -tf.ones(tf.size(corrupted)[tf.newaxis])]
    return tf.concat([positives, tf.reshape(negatives, [-1, 3])], 0), tf.concat(labels, 0)


def _as_written() -> tf.data.Options:
    """Runs the chain as it is: there is nothing to tune, and rewriting it copies the tables."""
    options = tf.data.Options()
    options.autotune.enabled = False
    options.experimental_optimization.apply_default_optimizations = False
    return options
