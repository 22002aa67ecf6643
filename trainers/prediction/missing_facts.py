"""The facts of a relation that a graph lacks and a model finds most plausible.

All (h, r, t) are scored, tile by tile: a product of queries with rows of the entity table, of which
only what beats the worst of the best so far leaves the tile. `EntityTable.top_k` would keep as many
for each head as are wanted of all; the tiles of `quatre_tf.ranking.tiles` count and keep nothing.
"""

import dataclasses
from collections.abc import Iterator

import numpy as np
import tensorflow as tf

from datasets.progress import progress
from quatre_tf import QuatRE
from quatre_tf.data.graph import Graph
from saved_models.entity_table import check_finite
from trainers.prediction.known_facts import KnownFacts

# Scores of a tile: 8 MiB, which stay in the processor's cache.
_QUERY_TILE = 256
_ENTITY_TILE = 8192


@dataclasses.dataclass(frozen=True, eq=False)
class RankedFacts:
    """Facts by score, highest first; of equal scores the lower head, then the lower tail.

    Attributes:
        triples: `[n, 3]` ids.
        scores: `[n]` float32, those of `QuatRE.score_triples`.
    """

    triples: np.ndarray
    scores: np.ndarray

    def merge(self, triples: np.ndarray, scores: np.ndarray, top_k: int) -> "RankedFacts":
        """Returns the best of these and of others `[m, 3]` with scores `[m]`."""
        triples = np.concatenate([self.triples, triples])
        scores = np.concatenate([self.scores, scores])
        if len(scores) > top_k:
            # Sorting all of a first tile would take a second.
            kept = scores >= np.partition(scores, -top_k)[-top_k]
            triples, scores = triples[kept], scores[kept]
        order = np.lexsort((triples[:, 2], triples[:, 0], -scores))[:top_k]
        return RankedFacts(triples[order], scores[order])


def missing_facts(
    model: QuatRE, graph: Graph, relation: int, top_k: int = 10, candidates: str = "seen"
) -> RankedFacts:
    """Returns the facts of a relation with the highest scores that no split of the graph has.

    Args:
        model: The model.
        graph: Its graph.
        relation: Id of the relation.
        top_k: How many at most.
        candidates: `"seen"`: one of the heads and another of the tails that train has of the
            relation; `"all"`: any two entities, and an entity with itself.

    Raises:
        DataError: The model holds NaN or infinite values.
    """
    check_finite("entities", model.entities.embeddings.numpy())
    check_finite("relations", model.query_rotations().numpy())
    known, floor = KnownFacts(graph), -np.inf
    best = RankedFacts(np.zeros([0, 3], np.int64), np.zeros(0, np.float32))
    for heads, tails, scores in _tiles(model, relation, *_candidates(graph, relation, candidates)):
        rows, columns = np.nonzero(scores >= floor)
        triples = np.stack([heads[rows], np.full(len(rows), relation), tails[columns]], axis=1)
        wanted = known.splits(triples) < 0
        if candidates == "seen":
            wanted &= triples[:, 0] != triples[:, 2]
        best = best.merge(triples[wanted], scores[rows, columns][wanted], top_k)
        floor = best.scores[-1] if len(best.scores) == top_k else floor
    return best


def _candidates(graph: Graph, relation: int, candidates: str) -> tuple[np.ndarray, np.ndarray]:
    """Returns ids of heads and of tails, both ascending."""
    if candidates == "all":
        return np.arange(graph.num_entities), np.arange(graph.num_entities)
    facts = graph.train[graph.train[:, 1] == relation]
    return np.unique(facts[:, 0]), np.unique(facts[:, 2])


def _tiles(
    model: QuatRE, relation: int, heads: np.ndarray, tails: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yields ids of heads `[n]` and tails `[m]`, and their scores `[n, m]`."""
    for column in progress(range(0, len(tails), _ENTITY_TILE), "Scoring pairs"):
        tile_tails = tails[column : column + _ENTITY_TILE]
        rows = model.entities.lookup(tf.constant(tile_tails))
        for row in range(0, len(heads), _QUERY_TILE):
            tile_heads = heads[row : row + _QUERY_TILE]
            queries = model.tail_queries(
                tf.constant(tile_heads), tf.fill(tile_heads.shape, relation)
            )
            yield tile_heads, tile_tails, tf.linalg.matmul(queries, rows, transpose_b=True).numpy()
