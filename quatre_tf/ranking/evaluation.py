"""The whole evaluation of runs: metrics, intervals, breakdowns, and paired comparisons."""

import dataclasses
from collections.abc import Iterator, Mapping

import numpy as np

from quatre_tf.data.candidate_sets import CANDIDATE_SETS, unseen_answers
from quatre_tf.data.graph import Graph
from quatre_tf.errors import ConfigError
from quatre_tf.ranking.breakdowns import Breakdowns, adjusted_mean_rank_index
from quatre_tf.ranking.counting import TIE_POLICIES
from quatre_tf.ranking.evaluator import Evaluator
from quatre_tf.ranking.results import UNSEEN_ANSWERS, Results, Row
from quatre_tf.ranking.split_ranks import SIDES, SplitRanks
from quatre_tf.ranking.statistics import sign_flip_p_values
from quatre_tf.ranking.tile_runner import Progress, without_progress
from quatre_tf.runs.run import Run

# Metrics of two tie policies that differ by no more are reported once.
_SAME = 1e-4


@dataclasses.dataclass(frozen=True)
class Options:
    """How to evaluate.

    Attributes:
        split: `"train"`, `"valid"` or `"test"`.
        tie_policy: How equal scores count.
        candidates: Candidate sets.
        seed: Seed of resamples and sign flips.
        progress: See `Evaluator`.
        group_intervals: Whether each relation and category gets intervals too.
    """

    split: str = "test"
    tie_policy: str = "realistic"
    candidates: tuple[str, ...] = CANDIDATE_SETS
    seed: int = 1
    progress: Progress = without_progress
    group_intervals: bool = False

    def evaluator(self, graph: Graph) -> Evaluator:
        """Returns the evaluator of a graph."""
        return Evaluator(
            graph,
            self.tie_policy,
            candidates=self.candidates,
            progress=self.progress,
        )


def evaluate_runs(
    runs: Mapping[str, Run], options: Options | None = None, baseline: str | None = None
) -> Results:
    """Evaluates the best weights of runs on the same graph.

    Args:
        runs: The runs by name.
        options: How to evaluate; None: the defaults.
        baseline: The run that is subtracted from each of the others; None: no comparison.

    Returns:
        For each run: metrics and adjusted mean rank index by candidate set and side, the metrics of
        the other tie policies if they differ, breakdowns by relation, category and unseen entities,
        and the differences from the baseline.

    Raises:
        ConfigError: The runs are on different graphs, or there is only the baseline.
        TrainingError: A model has no ranks.
    """
    options = options or Options()
    if baseline is not None and len(runs) < 2:
        raise ConfigError(f"{baseline} cannot be compared with itself. Expected another run.")
    first, *others = runs.values()
    for other in others:
        check_same_graph(first, other)
    evaluator = options.evaluator(first.graph)
    ranks = {name: evaluator.rank(run.model, options.split) for name, run in runs.items()}
    rows: list[Row] = []
    for name, found in ranks.items():
        rows += (row._replace(run=name) for row in _describe(found, first.graph, options))
        if baseline is not None and name != baseline:
            values = (ranks[run].values(options.tie_policy) for run in (name, baseline))
            differences = np.subtract(*values)
            rows += difference_rows(found, differences, options, run=name, baseline=baseline)
    num_triples = len(first.graph.split(options.split))
    return Results(options.split, num_triples, options.tie_policy, tuple(rows))


def check_same_graph(one: Run, other: Run) -> None:
    """Raises ConfigError if two runs were not trained on the same graph."""
    if one.graph.fingerprint != other.graph.fingerprint:
        raise ConfigError(
            f"{one.run_dir} and {other.run_dir} are runs on different graphs "
            f"({one.graph.name} and {other.graph.name}), so their figures cannot be compared. "
            "Expected names and splits that are the same."
        )


def difference_rows(
    ranks: SplitRanks, differences: np.ndarray, options: Options, **columns: str
) -> list[Row]:
    """Returns the rows of a comparison that is paired triple by triple.

    Args:
        ranks: A ranking of the triples.
        differences: `[n, sets, 3, 5]`: `SplitRanks.values` of one model minus the other's.
        options: For its tie policy and its seed; the p values are by sign flips.
        **columns: Other columns of the rows: the names of the run and of its baseline.
    """
    p_values = sign_flip_p_values(differences, seed=options.seed)
    return ranks.rows(
        differences, options.tie_policy, seed=options.seed, p_values=p_values, **columns
    )


def _describe(ranks: SplitRanks, graph: Graph, options: Options) -> Iterator[Row]:
    """Yields everything about the ranking of one run."""
    yield from ranks.rows(ranks.values(options.tie_policy), options.tie_policy, seed=options.seed)
    yield from adjusted_mean_rank_index(ranks, options.tie_policy)
    yield from unseen_answer_rows(ranks, graph, options.tie_policy)
    yield from _other_tie_policies(ranks, options.tie_policy)
    seed = options.seed if options.group_intervals else None
    breakdowns = Breakdowns(ranks, graph, options.tie_policy, seed)
    yield from breakdowns.by_relation()
    yield from breakdowns.by_category()
    yield from breakdowns.unseen_entities()


def unseen_answer_rows(ranks: SplitRanks, graph: Graph, tie_policy: str) -> Iterator[Row]:
    """Yields the numbers of answers that no other split, or not train, has in that slot."""
    for name in ranks.candidates:
        for side in SIDES[1:]:
            number = unseen_answers(graph, ranks.split, name, side)
            place = (ranks.split, tie_policy, name, side, len(ranks.triples))
            yield Row(*place, UNSEEN_ANSWERS, number)


def _other_tie_policies(ranks: SplitRanks, tie_policy: str) -> Iterator[Row]:
    """Yields the metrics of the other policies.

    There are none if no metric of the optimistic and the pessimistic policy differs by more than
    1e-4; of mean ranks, by more than this share of them.
    """
    values = {policy: ranks.values(policy) for policy in TIE_POLICIES}
    best, worst = (values[policy].mean(axis=0) for policy in ("optimistic", "pessimistic"))
    # A mean rank of thousands shows one tie in its last digit, so its ratio is compared.
    if (np.abs(worst - best) > _SAME * np.maximum(best, 1)).any():
        for policy in TIE_POLICIES:
            if policy != tie_policy:
                yield from ranks.rows(values[policy], policy)
