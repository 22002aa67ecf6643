"""Counts the competitors of a model's queries, one tile a replica at a time."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from datasets.progress import progress
from quatre_tf import QuatRE
from quatre_tf.ranking_lists import Asked
from quatre_tf.ranking_table import RankingTable, ranking_table
from quatre_tf.tiled_ranking import QUERY_TILE, count_tile
from trainers.evaluation.ranking_side import RankingSide

# For any number of them: one trace a side.
_TRIPLES = tf.TensorSpec([None, 3], tf.int32)


class TileRunner:
    """Shares the tiles of a model's rankings among the replicas of a strategy.

    A tile is computed by one replica, exactly as it would be without the others. What is compiled
    belongs to the runner and goes with it: a process that trains many models keeps no traces.

    Args:
        model: The model.
        strategy: The strategy that the model's variables belong to, or the default one.
    """

    def __init__(self, model: QuatRE, strategy: tf.distribute.Strategy):
        self.model, self._strategy = model, strategy
        # Called eagerly, replicas would take turns.
        self._is_compiled = strategy.num_replicas_in_sync > 1

    def read_table(self, screened: bool) -> Any:
        """Returns the `RankingTable` of each replica.

        To be read once a ranking: a variable that was trained sparsely is copied at every read.

        Args:
            screened: See `ranking_table`.
        """
        return (self._read_compiled if self._is_compiled else self._read)(screened)

    def run(self, table: Any, side: RankingSide, triples: np.ndarray) -> np.ndarray:
        """Returns `(better, equal)` `[2, sets, n]` int32 of triples `[n, 3]`.

        Args:
            table: Of `read_table`.
            side: What is asked for.
            triples: int32.
        """
        counts = np.concatenate(list(self._tiles(table, side, triples)), axis=2)
        rest = np.flatnonzero(counts[0, 0] < 0)
        if rest.size:
            again = self._tiles(table.exact, side, triples[rest])
            counts[:, :, rest] = np.concatenate(list(again), axis=2)
        return counts

    def _tiles(self, table: Any, side: RankingSide, triples: np.ndarray) -> Iterator[np.ndarray]:
        """Yields what `count_tile` counts of consecutive triples, `[2, sets, tile]` int32."""
        index = tf.constant(side.known_keys), tf.constant(side.set_keys)
        arrays = (triples, side.targets(triples), side.known_lists(triples))
        set_lists = side.set_lists(triples)

        def tile(context: tf.distribute.experimental.ValueContext, start: int) -> tuple:
            start += context.replica_id_in_sync_group * QUERY_TILE
            rows = slice(start, start + QUERY_TILE)
            return (*(tf.constant(a[rows]) for a in arrays), tf.constant(set_lists[:, rows]))

        distribute = self._strategy.experimental_distribute_values_from_function
        starts = range(0, len(triples), QUERY_TILE * self._strategy.num_replicas_in_sync)
        for first in progress(starts, f"Ranking {side.name}s"):
            tiles = distribute(lambda context, first=first: tile(context, first))
            count = self._count_compiled if self._is_compiled else self._count
            yield count(side.name, (tiles, table, *index)).numpy()

    def _read(self, screened: bool) -> Any:
        def read() -> RankingTable:
            table = tf.convert_to_tensor(self.model.entities.embeddings.value)
            return ranking_table(table, screened)

        return self._strategy.run(read)

    def _count(self, side: str, tensors: tuple[Any, ...]) -> tf.Tensor:
        """Returns `(better, equal)` `[2, sets, tiles]` int32 of the tiles of all replicas."""

        def count(
            tile: tuple[tf.Tensor, ...],
            table: RankingTable,
            known_keys: tf.Tensor,
            set_keys: tf.Tensor,
        ) -> tf.Tensor:
            triples, targets, known_lists, set_lists = tile
            queries = self._queries.get_concrete_function(side, _TRIPLES)(triples)
            asked = Asked(targets, known_keys, known_lists, set_keys, set_lists)
            return tf.stack(count_tile(queries, table, asked))

        return self._strategy.gather(self._strategy.run(count, tensors), axis=2)

    _read_compiled = tf.function(_read)
    _count_compiled = tf.function(_count, reduce_retracing=True)

    # It takes a third of the time of the same operations one by one.
    @tf.function
    def _queries(self, side: str, triples: tf.Tensor) -> tf.Tensor:
        heads, relations, tails = tf.unstack(triples, axis=1)
        if side == "head":
            return self.model.head_queries(relations, tails)
        return self.model.tail_queries(heads, relations)
