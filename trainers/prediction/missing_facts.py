"""The most plausible facts of a relation that the graph does not contain.

The best tails of all heads, a tile of heads at a time (`quatre_tf.ranking.tiles.top_k`), and of
these the best.
"""

import numpy as np
import tensorflow as tf

from datasets.progress import progress
from quatre_tf.data.graph import Graph
from quatre_tf.model import KGEModel
from quatre_tf.ranking.entity_lists import Tile, mask_members
from quatre_tf.ranking.tiles import top_k as best_rows
from quatre_tf.validation import check_finite

_QUERY_TILE = 256


def missing_facts(
    model: KGEModel, graph: Graph, relation: int, top_k: int = 10, candidates: str = "seen"
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the facts of a relation with the highest scores that no split of the graph has.

    Args:
        model: The model.
        graph: Its graph.
        relation: Id of the relation.
        top_k: How many at most.
        candidates: `"seen"`: one of the heads and another of the tails that train has of the
            relation; `"all"`: any two entities, and an entity with itself.

    Returns:
        `[n, 3]` ids, and `[n]` float32 scores as of `KGEModel.score_triples`, highest first; of
        equal ones the lower head, then the lower tail.

    Raises:
        DataError: The model holds NaN or infinite values.
    """
    check_finite("entities", model.entities.embeddings.numpy())
    check_finite("relations", model.score_function.folded().numpy())
    heads, tails = _candidates(graph, relation, candidates)
    left_out = _left_out(graph, relation, heads, tails, candidates)
    rows, similarity = model.entities.lookup(tf.constant(tails)), model.score_function.similarity
    triples, best = np.zeros([0, 3], np.int64), np.zeros(0, np.float32)
    for start in progress(range(0, len(heads), _QUERY_TILE), "Scoring pairs"):
        part = heads[start : start + _QUERY_TILE]
        lists = tf.range(start, start + len(part), dtype=tf.int64)

        def mask(scores: tf.Tensor, tile: Tile, lists: tf.Tensor = lists) -> tf.Tensor:
            return mask_members(scores, left_out, lists, tile)

        queries = model.tail_queries(tf.constant(part), tf.fill(part.shape, relation))
        scores, places = (
            found.numpy() for found in best_rows(similarity, rows, queries, top_k, mask)
        )
        chosen = np.isfinite(scores)
        found = np.stack(
            [
                np.broadcast_to(part[:, np.newaxis], scores.shape)[chosen],
                np.full(chosen.sum(), relation),
                tails[places[chosen]],
            ],
            axis=1,
        )
        triples, best = np.concatenate([triples, found]), np.concatenate([best, scores[chosen]])
        order = np.lexsort((triples[:, 2], triples[:, 0], -best))[:top_k]
        triples, best = triples[order], best[order]
    return triples, best


def _candidates(graph: Graph, relation: int, candidates: str) -> tuple[np.ndarray, np.ndarray]:
    """Returns ids of heads and of tails, both ascending."""
    if candidates == "all":
        return np.arange(graph.num_entities), np.arange(graph.num_entities)
    by_head, by_tail = (graph.index(s, "train").of_relation(relation) for s in ("tail", "head"))
    return by_head.keys, by_tail.keys


def _left_out(
    graph: Graph, relation: int, heads: np.ndarray, tails: np.ndarray, candidates: str
) -> tf.Tensor:
    """Returns the pairs that are known or not wanted, as ascending keys `head * tails + tail`.

    Both are places among the candidates.
    """
    index = graph.index("tail", "known").of_relation(relation)
    pairs = np.stack([np.repeat(index.keys, index.group_sizes), index.entities], axis=1)
    if candidates == "seen":
        pairs = np.concatenate([pairs, np.stack([heads, heads], axis=1)])
    places = []
    for ids, column in zip((heads, tails), pairs.T, strict=True):
        place = np.full(graph.num_entities, -1)
        place[ids] = np.arange(len(ids))
        places.append(place[column])
    inside = (places[0] >= 0) & (places[1] >= 0)
    return tf.constant(np.unique(places[0][inside] * len(tails) + places[1][inside]), tf.int64)
