"""Distinct queries of a graph with their answers, as a tf.data pipeline."""

import numpy as np
import tensorflow as tf

from quatre_tf.data.batches import Batches
from quatre_tf.data.graph import Graph


def count_queries(graph: Graph, max_answers: int = 0) -> tuple[int, int]:
    """Returns how many queries `QueryBatches` has in a pass, and all their answers."""
    sizes = np.concatenate([graph.index(side, "train").group_sizes for side in ("tail", "head")])
    return int(_num_parts(sizes, max_answers).sum()), int(sizes.sum())


class QueryBatches(Batches):
    """The questions that the training triples answer, each with all its answers.

    A question is an entity and a relation: r asks for the tails of relation r, `num_relations + r`
    for its heads. A triple that is repeated in the data counts once.

    With `max_answers`, a question that has more is asked several times in a pass, each time with
    another part of its answers. Otherwise, one with thousands has a huge gradient once in a pass,
    whose square stays in Adagrad's accumulators.

    Batch k is a function of (graph, seed, k) and the size. A pass over the queries is
    `num_queries // batch_size` batches in an order of its own; the remainder, others in each pass,
    is left out.

    Args:
        graph: The graph.
        batch_size: Number of queries in a batch, at most the number of them.
        num_candidates: Number of entities drawn for all queries of a batch to be ranked among; 0
            for none.
        max_answers: The most answers that a query of a batch has; 0 for all.
        seed: Any integer of 64 bits.

    Raises:
        ValueError: `batch_size` is not in 1 ... the number of queries, `num_candidates` is not in
            0 ... the number of entities, or `max_answers` is negative.
    """

    def __init__(
        self,
        graph: Graph,
        *,
        batch_size: int,
        num_candidates: int = 0,
        max_answers: int = 0,
        seed: int,
    ):
        if max_answers < 0:
            raise ValueError(f"`max_answers` must be at least 0. Received: {max_answers}.")
        tails, heads = graph.index("tail", "train"), graph.index("head", "train")
        relations, entities = np.divmod(np.r_[tails.keys, heads.keys], graph.num_entities)
        relations[len(tails.keys) :] += graph.num_relations
        targets = np.r_[tails.entities, heads.entities]
        counts = np.r_[tails.group_sizes, heads.group_sizes]
        if max_answers:
            targets = _shuffle_each(targets, counts, seed)
        query, sizes = _split(counts, max_answers)
        if not 1 <= batch_size <= len(query):
            raise ValueError(
                f"`batch_size` must be in 1 ... {len(query)}, the number of queries. "
                f"Received: {batch_size}."
            )
        if not 0 <= num_candidates <= graph.num_entities:
            raise ValueError(
                f"`num_candidates` must be in 0 ... {graph.num_entities}, the number of "
                f"entities. Received: {num_candidates}."
            )
        self.batch_size, self._num_candidates, self._seed = batch_size, num_candidates, seed
        self._num_queries, self._num_entities = len(query), graph.num_entities
        # Eager tensors made here are captured by reference: they do not become part of the graph.
        self._entities, self._relations = (
            tf.constant(ids[query], tf.int32) for ids in (entities, relations)
        )
        # The answers of query q are `targets[row_splits[q] : row_splits[q + 1]]`.
        self._row_splits = tf.constant(np.r_[0, np.cumsum(sizes)])
        self._targets = tf.constant(targets)

    def make(
        self, step: tf.Tensor, first: int | tf.Tensor, size: int | tf.Tensor
    ) -> dict[str, tf.Tensor]:
        """As `Batches.make`.

        Returns:
            entities, relations, counts: [size] int32, the queries and their numbers of answers;
            rows, targets: [answers] int32, all answers and the query of each;
            seed: [2] int64, of the random numbers of the step, others in each part;
            with `num_candidates` also:
            candidates: [num_candidates] int32, distinct entities, ascending; the same in all parts;
            hits: [found, 2] int32: (query, place) of the answers that are among the candidates.
        """
        chosen = self._choose(step, first, size)
        starts, limits = (
            tf.gather(self._row_splits, chosen),
            tf.gather(self._row_splits, chosen + 1),
        )
        places = tf.ragged.range(starts, limits, row_splits_dtype=tf.int64)
        batch = {
            "entities": tf.gather(self._entities, chosen),
            "relations": tf.gather(self._relations, chosen),
            "counts": tf.cast(limits - starts, tf.int32),
            "rows": tf.cast(places.value_rowids(), tf.int32),
            "targets": tf.gather(self._targets, places.flat_values),
            "seed": tf.random.experimental.stateless_fold_in(self._seed_of(step), first),
        }
        if self._num_candidates:
            found = _draw(self._num_candidates, self._num_entities, self._seed_of(-1 - step))
            batch |= {"candidates": found, "hits": _hits(batch, found)}
        return batch

    def _choose(self, step: tf.Tensor, first: int | tf.Tensor, size: int | tf.Tensor) -> tf.Tensor:
        """Returns the questions `[size]` of the rows: a place in the permutation of their pass.

        The permutation is computed at these places only, so no shuffled list is stored.
        """
        batches_per_pass = self._num_queries // self.batch_size
        start = step % batches_per_pass * self.batch_size + first
        return tf.random.experimental.index_shuffle(
            start + tf.range(size, dtype=tf.int64),
            seed=self._seed_of(step // batches_per_pass),
            max_index=tf.constant(self._num_queries - 1, tf.int64),
        )

    def _seed_of(self, number: tf.Tensor) -> tf.Tensor:
        """Returns the seed `[2]` of a step or pass.

        A hash, because a shuffle uses only a few bits of its seed: consecutive numbers would repeat
        the same 256 permutations of 41,000 entities.
        """
        seed = tf.stack([tf.constant(self._seed, tf.int64), number])
        return tf.random.stateless_uniform([2], seed, None, None, tf.int64, alg="philox")


def _num_parts(counts: np.ndarray, max_answers: int) -> np.ndarray:
    return -(-counts // max_answers) if max_answers else np.ones_like(counts)


def _split(counts: np.ndarray, max_answers: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the query of each part, ascending, and the number of its answers: [parts] int64.

    The parts of a query are equally large, or differ by one.

    Args:
        counts: [queries] int64, the answers of each query.
        max_answers: The most answers of a part; 0 for all.
    """
    parts = _num_parts(counts, max_answers)
    query = np.repeat(np.arange(len(parts)), parts)
    place = np.arange(len(query)) - (np.cumsum(parts) - parts)[query]
    return query, (counts[query] + place) // parts[query]


def _shuffle_each(answers: np.ndarray, counts: np.ndarray, seed: int) -> np.ndarray:
    """Returns the answers with those of each query in another order.

    Entities often have ids in the order of their first triples, so that neighbours are alike.
    """
    query = np.repeat(np.arange(len(counts)), counts)
    keys = np.random.default_rng(seed % 2**64).random(len(answers))
    return answers[np.lexsort((keys, query))]


def _draw(count: int, bound: int, seed: tf.Tensor) -> tf.Tensor:
    """Returns `count` distinct numbers below `bound`, ascending: the start of a permutation."""
    places = tf.range(count, dtype=tf.int64)
    last = tf.constant(bound - 1, tf.int64)
    return tf.sort(tf.cast(tf.random.experimental.index_shuffle(places, seed, last), tf.int32))


def _hits(batch: dict[str, tf.Tensor], candidates: tf.Tensor) -> tf.Tensor:
    """Returns (query, place) of the targets that are among the candidates: `[found, 2]` int32."""
    places = tf.minimum(tf.searchsorted(candidates, batch["targets"]), tf.size(candidates) - 1)
    found = tf.gather(candidates, places) == batch["targets"]
    return tf.boolean_mask(tf.stack([batch["rows"], places], axis=1), found)
