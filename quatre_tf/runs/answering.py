"""The tensors of a loaded run, and the compiled functions that answer questions by ids."""

import functools

import numpy as np
import tensorflow as tf

from quatre_tf.data.candidate_sets import constraint
from quatre_tf.data.graph import Graph
from quatre_tf.errors import DataError
from quatre_tf.model import KGEModel
from quatre_tf.ranking.counting import ranks_from_counts
from quatre_tf.ranking.entity_lists import Tile, keep_members, mask_members
from quatre_tf.ranking.sides import RankingSide
from quatre_tf.ranking.tile_runner import TileRunner
from quatre_tf.ranking.tiles import CandidateTable, top_k
from quatre_tf.runs.entity_index import EntityIndex
from quatre_tf.validation import check_finite

_TRIPLES = tf.TensorSpec([None, 3], tf.int32)


class Answerer:
    """Answers questions by ids.

    Args:
        model: The model.
        graph: The graph that it was trained on.

    Attributes:
        table: The entity table, read once.

    Raises:
        DataError: The model holds NaN or infinite values.
    """

    def __init__(self, model: KGEModel, graph: Graph):
        self._model = model
        self._graph = graph
        self._runner = TileRunner(model, tf.distribute.get_strategy())
        self.table: CandidateTable = self._runner.read_table()
        check_finite("entities", np.asarray(self.table.rows))
        check_finite("relations", model.score_function.folded().numpy())

    @functools.cached_property
    def _sides(self) -> dict[str, RankingSide]:
        """The known triples, indexed once."""
        return {side: RankingSide.build(self._graph, side, ("all",)) for side in ("head", "tail")}

    @functools.cached_property
    def _known_keys(self) -> dict[str, tf.Tensor]:
        return {name: tf.constant(side.known.list_keys) for name, side in self._sides.items()}

    def best(
        self, side: str, triples: np.ndarray, k: int, filtered: bool, constrained: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns scores and ids, both `[n, min(k, num_entities)]`, best first.

        Where candidates run out, the score is minus infinity.

        Args:
            side: `"head"` or `"tail"`: what to predict.
            triples: `[n, 3]` ids; those on the side to predict are ignored.
            k: How many answers.
            filtered: Whether known answers are left out.
            constrained: Whether only entities that train has in the slot are candidates.
        """
        known, slot_keys = self._sides[side].known_lists(triples), np.zeros(0, np.int64)
        if constrained:
            slot_keys = constraint(self._graph, "train_type_constrained", side).keys
        scores, ids = self._find_best(
            side,
            constrained,
            self.table.rows,
            self._known_keys[side],
            tf.constant(slot_keys),
            tf.constant(triples),
            tf.constant(known if filtered else np.full_like(known, -1)),
            tf.constant(min(k, self._graph.num_entities)),
        )
        return scores.numpy(), ids.numpy()

    def best_of_index(
        self, index: EntityIndex, side: str, triples: np.ndarray, k: int, filtered: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns what `best` does, as far as the index finds it; else the score is -inf."""
        if not self._model.similarity(side).linear:
            raise DataError(
                "An index finds answers by inner product, which scores those of models such as "
                f"QuatRE or ComplEx. Received: {type(self._model.score_function).__name__}."
            )
        given = triples[:, 0 if side == "tail" else 2]
        if not index.holds(given, np.asarray(self.table.rows)[given]):
            raise DataError("The index holds other embeddings. Build it again: run.build_index().")
        k, known = min(k, self._graph.num_entities), self._sides[side].known
        groups = self._sides[side].known_lists(triples) if filtered else np.full(len(triples), -1)
        scores = np.full([len(triples), k], -np.inf, np.float32)
        ids = np.zeros([len(triples), k], np.int64)
        for row, (query, group) in enumerate(zip(self.queries(side, triples), groups, strict=True)):
            found, places = index.search(query, k, known.of_group(group))
            scores[row, : len(found)], ids[row, : len(found)] = found, places
        return scores, ids

    # Compiled for the first number of questions, and for any number when another one comes.
    @tf.function(reduce_retracing=True, autograph=False)
    def _find_best(
        self,
        side: str,
        constrained: bool,
        rows: tf.Tensor,
        known_keys: tf.Tensor,
        slot_keys: tf.Tensor,
        triples: tf.Tensor,
        known_lists: tf.Tensor,
        k: tf.Tensor,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        relations = tf.cast(triples[:, 1], tf.int64)

        def mask(scores: tf.Tensor, tile: Tile) -> tf.Tensor:
            scores = mask_members(scores, known_keys, known_lists, tile)
            return keep_members(scores, slot_keys, relations, tile) if constrained else scores

        similarity = self._model.similarity(side)
        return top_k(similarity, rows, self._runner.queries(side, triples), k, mask)

    def queries(self, side: str, triples: np.ndarray) -> np.ndarray:
        """Returns the queries `[n, width]` for the entities on a side of triples `[n, 3]`."""
        return self._runner.queries(side, tf.constant(triples)).numpy()

    @tf.function(input_signature=[_TRIPLES], autograph=False)
    def scores(self, triples: tf.Tensor) -> tf.Tensor:
        """Returns the scores `[n]` of triples `[n, 3]`."""
        return self._model.score_triples(*tf.unstack(triples, axis=1))

    def ranks(self, side: str, triples: np.ndarray) -> list[float]:
        """Returns the filtered ranks of the entities on a side of triples `[n, 3]`."""
        (better,), (equal,) = self._runner.run(self.table, self._sides[side], triples)
        return ranks_from_counts(better, equal).numpy().tolist()
