"""Filtered ranking of a split: the figures that a run reports."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from quatre_tf.data.graph import Graph
from quatre_tf.errors import DataError, TrainingError
from quatre_tf.model import KGEModel
from quatre_tf.ranking.counting import NOT_FINITE
from quatre_tf.ranking.results import Results
from quatre_tf.ranking.sides import RankingSide
from quatre_tf.ranking.split_ranks import Counts, SplitRanks
from quatre_tf.ranking.tile_runner import Progress, TileRunner, without_progress


class Evaluator:
    """Ranks the triples of a split, known triples of all splits filtered out.

    All candidate sets are counted in one pass over the scores, in tiles of fixed size: the figures
    are the same bit for bit whatever the memory, the strategy and the other sets are.

    Args:
        graph: The graph.
        tie_policy: How equal scores count (`quatre_tf.ranking.counting.TIE_POLICIES`).
        seed: Of the samples drawn with `max_triples`.
        candidates: Candidate sets (`quatre_tf.data.candidate_sets.CANDIDATE_SETS`).
        strategy: Its replicas share the queries; None: the default strategy.
        progress: Shows how far a ranking is, such as `datasets.progress.progress`.
    """

    def __init__(
        self,
        graph: Graph,
        tie_policy: str = "realistic",
        seed: int = 1,
        candidates: Sequence[str] = ("all",),
        strategy: tf.distribute.Strategy | None = None,
        progress: Progress = without_progress,
    ):
        self._graph, self._tie_policy, self._seed = graph, tie_policy, seed
        self._candidates = tuple(candidates)
        self._strategy = strategy or tf.distribute.get_strategy()
        self._progress = progress
        self._runner: TileRunner | None = None
        self._sides = [RankingSide.build(graph, side, candidates) for side in ("head", "tail")]

    def evaluate(self, model: KGEModel, split: str, max_triples: int | None = None) -> Results:
        """Returns the metrics of `rank`, by candidate set and side.

        Raises:
            DataError: As `rank`.
            TrainingError: As `rank`.
        """
        return self.summarize(self.rank(model, split, max_triples))

    def summarize(self, ranks: SplitRanks) -> Results:
        """Returns what `evaluate` returns, for a ranking that is already computed."""
        rows = ranks.rows(ranks.values(self._tie_policy), self._tie_policy)
        return Results(ranks.split, len(ranks.triples), self._tie_policy, tuple(rows))

    def rank(self, model: KGEModel, split: str, max_triples: int | None = None) -> SplitRanks:
        """Ranks the triples of a split, both sides.

        Args:
            model: The model.
            split: `"train"`, `"valid"` or `"test"`.
            max_triples: Rank only so many, drawn once by the seed: the same ones at every call.

        Raises:
            DataError: The split is unknown or has no triples.
            TrainingError: A score is NaN or infinite, or all candidates of every query score alike.
        """
        triples = self._triples(split, max_triples)
        if not len(triples):
            raise DataError(f"The {split} split of {self._graph.name} has no triples to rank.")
        runner = self._runner_of(model)
        table = runner.read_table()
        try:
            counts = {
                side.name: _counts(runner.run(table, side, triples), side, triples)
                for side in self._sides
            }
        except tf.errors.InvalidArgumentError as error:
            if NOT_FINITE not in str(error):
                raise
            raise TrainingError(
                f"The model gives scores that are {NOT_FINITE}, so it has no ranks. "
                "Train it again with a smaller --learning_rate."
            ) from error
        _check_not_constant([counts[side]["all"] for side in counts])
        return SplitRanks(
            split,
            triples,
            {name: {side: counts[side][name] for side in counts} for name in self._candidates},
        )

    def _runner_of(self, model: KGEModel) -> TileRunner:
        # A training ranks one model again and again: it is compiled once.
        if self._runner is None or self._runner.model is not model:
            self._runner = TileRunner(model, self._strategy, self._progress)
        return self._runner

    def _triples(self, split: str, max_triples: int | None) -> np.ndarray:
        triples = self._graph.split(split)
        if max_triples is not None and max_triples < len(triples):
            rng = np.random.default_rng(self._seed)
            triples = triples[np.sort(rng.choice(len(triples), max_triples, replace=False))]
        return triples


def _counts(found: np.ndarray, side: RankingSide, triples: np.ndarray) -> dict[str, Counts]:
    """Returns the counts of each candidate set."""
    columns = zip(side.sets, *found, side.competitors(triples), strict=True)
    return {name: Counts(better, equal, number) for name, better, equal, number in columns}


def _check_not_constant(sides: Sequence[Counts]) -> None:
    """Refuses a model whose every query is one great tie."""
    if any(counts.competitors.any() for counts in sides) and all(
        (counts.equal == counts.competitors).all() for counts in sides
    ):
        raise TrainingError(
            "The model gives all candidates of every query the same score, so its ranks would "
            "mean nothing. It may have collapsed to zero: train it again with a smaller --l2, "
            "--n3 or --dura."
        )
