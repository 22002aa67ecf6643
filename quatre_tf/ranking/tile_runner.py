"""Counts the competitors of a model's queries, one tile a replica at a time.

Triples that ask one query are ranked by one column of scores. The tails of (h, r) and the heads of
(r, t) are often asked more than once in a split: FB15k-237 has .67 and .45 distinct queries a test
triple.
"""

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from quatre_tf.model import KGEModel
from quatre_tf.ranking.counting import QUERY_TILE, count_better
from quatre_tf.ranking.entity_lists import RankTargets
from quatre_tf.ranking.sides import RankingSide
from quatre_tf.ranking.tiles import CandidateTable, candidate_table

Progress = Callable[[Iterable[int], str], Iterable[int]]

# For any number of them: one trace a side.
_TRIPLES = tf.TensorSpec([None, 3], tf.int32)
# More targets per query hardly save any scores, and few queries have that many.
_DEPTH = 4


def without_progress(items: Iterable[int], what: str) -> Iterable[int]:
    """Returns the items; shows nothing."""
    del what
    return items


class TileRunner:
    """Shares the tiles of a model's rankings among the replicas of a strategy.

    A tile is computed by one replica, exactly as it would be without the others. What is compiled
    belongs to the runner and goes with it: a process that trains many models keeps no traces.

    Args:
        model: The model.
        strategy: The strategy that the model's variables belong to, or the default one.
        progress: Shows how far the loop over tiles is.
    """

    def __init__(
        self,
        model: KGEModel,
        strategy: tf.distribute.Strategy,
        progress: Progress = without_progress,
    ):
        self.model, self._strategy, self._progress = model, strategy, progress
        # Called eagerly, replicas would take turns.
        self._is_compiled = strategy.num_replicas_in_sync > 1
        # It takes a third of the time of the same operations one by one.
        self._queries = {
            side: tf.function(
                functools.partial(self._make_queries, side),
                input_signature=[_TRIPLES],
                autograph=False,
            )
            for side in ("head", "tail")
        }

    def read_table(self) -> Any:
        """Returns the `CandidateTable` of each replica.

        Call it once a ranking: a variable that was trained sparsely is copied at every read.
        """
        return self._read_compiled() if self._is_compiled else self._read()

    def run(self, table: Any, side: RankingSide, triples: np.ndarray) -> np.ndarray:
        """Returns `(better, equal)` `[2, sets, n]` int64 of triples `[n, 3]`.

        Args:
            table: Of `read_table`.
            side: The side that is ranked.
            triples: int32.
        """
        index = tf.constant(side.known.list_keys), tf.constant(side.set_keys)
        targets = side.targets(triples)
        counts = np.empty([2, len(side.sets), len(triples)], np.int64)
        replicas = self._strategy.num_replicas_in_sync
        tiles = list(share_queries(side.query_keys(triples), QUERY_TILE))

        def values(asked: np.ndarray) -> tuple[tf.Tensor, ...]:
            queries = triples[asked[0]]
            asked_for = np.where(asked < 0, -1, targets[asked])
            lists = side.known_lists(queries), side.set_lists(queries)
            return tuple(tf.constant(array) for array in (queries, asked_for, *lists))

        distribute = self._strategy.experimental_distribute_values_from_function
        for first in self._progress(range(0, len(tiles), replicas), f"Ranking {side.name}s"):
            together = of_one_depth(tiles[first : first + replicas], replicas)
            given = [values(tile) for tile in together]
            distributed = distribute(
                lambda context, given=given: given[context.replica_id_in_sync_group]
            )
            count = self._count_compiled if self._is_compiled else self._count
            found = count(side.name, (distributed, table, *index)).numpy()
            asked = np.concatenate(together, axis=1)
            counts[:, :, asked[asked >= 0]] = found[:, :, asked >= 0]
        return counts

    def _read(self) -> Any:
        def read() -> CandidateTable:
            return candidate_table(self.model.entities.rows())

        return self._strategy.run(read)

    def _count(self, side: str, tensors: tuple[Any, ...]) -> tf.Tensor:
        """Returns `(better, equal)` `[2, sets, depth, queries]` int32 of all replicas' tiles."""

        def count(
            tile: tuple[tf.Tensor, ...],
            table: CandidateTable,
            known_keys: tf.Tensor,
            set_keys: tf.Tensor,
        ) -> tf.Tensor:
            triples, targets, known_lists, set_lists = tile
            queries = self.queries(side, triples)
            rank_targets = RankTargets(targets, known_keys, known_lists, set_keys, set_lists)
            similarity = self.model.similarity(side)
            return tf.stack(count_better(queries, table, rank_targets, similarity))

        return self._strategy.gather(self._strategy.run(count, tensors), axis=3)

    _read_compiled = tf.function(_read, autograph=False)
    _count_compiled = tf.function(_count, reduce_retracing=True, autograph=False)

    def queries(self, side: str, triples: tf.Tensor) -> tf.Tensor:
        """Returns the queries `[n, width]` of triples `[n, 3]` int32 that ask for a side."""
        return self._queries[side](triples)

    def _make_queries(self, side: str, triples: tf.Tensor) -> tf.Tensor:
        heads, relations, tails = tf.unstack(triples, axis=1)
        if side == "head":
            return self.model.head_queries(relations, tails)
        return self.model.tail_queries(heads, relations)


def share_queries(keys: np.ndarray, batch_size: int) -> Iterator[np.ndarray]:
    """Yields tiles `[depth, batch]` that have every triple once.

    A column has the triples that ask one query, -1 where there are fewer; the longest come first. A
    query of more triples than a tile's depth comes again.

    Args:
        keys: `[n]` integers, of triples: equal ones ask the same query. In a tile are neighbours.
        batch_size: Most queries in a tile.
    """
    order = np.argsort(keys, kind="stable")
    is_new = np.ones(len(keys), bool)
    is_new[1:] = np.diff(keys[order]) != 0
    # The place of a triple among the triples of its query.
    first_of_query = np.flatnonzero(is_new)[np.cumsum(is_new) - 1]
    places = (np.arange(len(keys)) - first_of_query) % _DEPTH
    firsts = np.flatnonzero(places == 0)
    sizes = np.diff(np.append(firsts, len(keys)))
    longest_first = np.argsort(-sizes, kind="stable")
    firsts, sizes = firsts[longest_first], sizes[longest_first]
    for start in range(0, len(firsts), batch_size):
        part = slice(start, start + batch_size)
        depths = np.arange(sizes[start])[:, np.newaxis]
        found = np.minimum(firsts[part] + depths, len(keys) - 1)
        yield np.where(depths < sizes[part], order[found], -1)


def of_one_depth(tiles: list[np.ndarray], count: int) -> list[np.ndarray]:
    """Returns `count` tiles of the same depth: the given ones, then empty ones."""
    depth = max(map(len, tiles))
    filled = [np.pad(tile, ((0, depth - len(tile)), (0, 0)), constant_values=-1) for tile in tiles]
    return filled + [np.zeros([depth, 0], np.int64)] * (count - len(tiles))
