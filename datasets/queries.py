"""Distinct queries of a graph with all their answers, as a tf.data pipeline."""

import numpy as np
import tensorflow as tf

from datasets.graph import Graph
from datasets.known_triples import index_heads, index_tails
from datasets.pipeline import as_written


class Queries:
    """The questions that the training triples answer, each once, for tails and for heads.

    Question q is an entity and a relation: r asks for the tails of relation r, `num_relations + r`
    for its heads. Its answers are `targets[row_splits[q] : row_splits[q + 1]]`, ascending. A triple
    that is repeated in the data counts once.

    Attributes:
        entities: [num_queries] int32.
        relations: [num_queries] int32.
        row_splits: [num_queries + 1] int64.
        targets: [num_targets] int32.
        num_entities: Number of entities of the graph.
    """

    def __init__(self, graph: Graph):
        tails = index_tails(graph.train, graph.num_entities)
        heads = index_heads(graph.train, graph.num_entities)
        relations, entities = np.divmod(np.r_[tails.keys, heads.keys], graph.num_entities)
        relations[len(tails.keys) :] += graph.num_relations
        self.entities, self.relations = entities.astype(np.int32), relations.astype(np.int32)
        self.row_splits = np.r_[tails.row_splits, tails.row_splits[-1] + heads.row_splits[1:]]
        self.targets = np.r_[tails.entities, heads.entities]
        self.num_entities = graph.num_entities

    def __len__(self) -> int:
        return len(self.entities)


def query_batches(
    queries: Queries,
    *,
    batch_size: int,
    num_candidates: int = 0,
    num_parts: int = 1,
    seed: int,
    start: int = 0,
) -> tf.data.Dataset:
    """Returns the batches start, start + 1, ... of training; they never end.

    Batch k is a pure function of (queries, seed, k) and the size. A pass over the queries is
    `len(queries) // batch_size` batches in an order of its own; the remainder, others in each pass,
    is left out.

    Args:
        queries: The questions.
        batch_size: Number of queries in a batch, at most `len(queries)`.
        num_candidates: Number of entities drawn for all queries of a batch to be ranked among; 0
            for none.
        num_parts: Give each batch in so many elements, one after the other, for the replicas of a
            strategy. Divides `batch_size`.
        seed: Any integer of 64 bits.
        start: Number of the first batch.

    Returns:
        A data set of dictionaries, `size = batch_size / num_parts`:
        entities, relations, counts: [size] int32, the queries and their numbers of answers;
        rows, targets: [answers] int32, all answers and the query of each;
        samples: [size] int32, one answer of each query;
        with `num_candidates`, besides:
        candidates: [num_candidates] int32, distinct entities, ascending;
        hits: [found, 2] int32: (query, place) of the answers that are among the candidates.

    Raises:
        ValueError: `batch_size` is not in 1 ... `len(queries)`, `num_parts` does not divide it, or
            `num_candidates` is not in 0 ... the number of entities.
    """
    if not 1 <= batch_size <= len(queries):
        raise ValueError(
            f"`batch_size` must be in 1 ... {len(queries)}, the number of distinct queries. "
            f"Received: {batch_size}."
        )
    if batch_size % num_parts:
        raise ValueError(
            f"`num_parts` must divide `batch_size`, {batch_size}. Received: {num_parts}."
        )
    if not 0 <= num_candidates <= queries.num_entities:
        raise ValueError(
            f"`num_candidates` must be in 0 ... {queries.num_entities}, the number of entities. "
            f"Received: {num_candidates}."
        )
    batches_per_pass, size = len(queries) // batch_size, batch_size // num_parts
    # Eager tensors made here are captured by reference: they do not become part of the graph.
    entities, relations = tf.constant(queries.entities), tf.constant(queries.relations)
    row_splits, targets = tf.constant(queries.row_splits), tf.constant(queries.targets)

    def make_part(element: tf.Tensor) -> dict[str, tf.Tensor]:
        step, part = element // num_parts, element % num_parts
        first = step % batches_per_pass * batch_size + part * size
        # A permutation that is computed at the places asked for: no shuffled list to keep or make.
        chosen = tf.random.experimental.index_shuffle(
            first + tf.range(size, dtype=tf.int64),
            seed=tf.stack([tf.constant(seed, tf.int64), step // batches_per_pass]),
            max_index=tf.constant(len(queries) - 1, tf.int64),
        )
        starts, limits = tf.gather(row_splits, chosen), tf.gather(row_splits, chosen + 1)
        places = tf.ragged.range(starts, limits, row_splits_dtype=tf.int64)
        uniforms = tf.random.stateless_uniform(
            [batch_size],
            seed=tf.stack([tf.constant(seed, tf.int64), step]),
            dtype=tf.float64,
            # By name, because the automatic choice depends on the device.
            alg="philox",
        )
        uniforms = uniforms[part * size : (part + 1) * size]
        samples = starts + tf.cast(uniforms * tf.cast(limits - starts, tf.float64), tf.int64)
        part_of_batch = {
            "entities": tf.gather(entities, chosen),
            "relations": tf.gather(relations, chosen),
            "counts": tf.cast(limits - starts, tf.int32),
            "rows": tf.cast(places.value_rowids(), tf.int32),
            "targets": tf.gather(targets, places.flat_values),
            "samples": tf.gather(targets, samples),
        }
        if num_candidates:
            found = _draw(
                num_candidates,
                queries.num_entities,
                tf.stack([tf.constant(seed, tf.int64), -1 - step]),
            )
            part_of_batch |= {"candidates": found, "hits": _hits(part_of_batch, found)}
        return part_of_batch

    # As in `datasets.pipeline`: numbers first, whole batches from them, prefetch last.
    elements = tf.data.Dataset.range(start * num_parts, tf.int64.max)
    batches = elements.map(make_part).prefetch(2 * num_parts)
    return batches.with_options(as_written())


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
