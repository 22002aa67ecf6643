"""The whole evaluation of a run: figures, how sure they are, their parts, and a comparison."""

import dataclasses
from typing import Any

import numpy as np

from quatre_tf.data.candidate_sets import CANDIDATE_SETS, unseen_answers
from quatre_tf.data.graph import Graph
from quatre_tf.errors import ConfigError
from quatre_tf.metrics import METRICS
from quatre_tf.ranking import breakdowns, statistics
from quatre_tf.ranking.evaluator import Evaluator
from quatre_tf.ranking.ranks import TIE_POLICIES
from quatre_tf.ranking.split_ranks import SIDES, SplitRanks
from quatre_tf.ranking.tile_runner import Progress, without_progress
from quatre_tf.run import Trained

# Figures of two tie policies that differ by no more are the same to a reader.
_SAME = 1e-4


@dataclasses.dataclass(frozen=True)
class Options:
    """How to evaluate.

    Attributes:
        split: `"train"`, `"valid"` or `"test"`.
        tie_policy: How equal scores count.
        candidates: Candidate sets.
        seed: Of resamples and sign flips.
        memory_limit_mb: See `Evaluator`.
        progress: See `Evaluator`.
    """

    split: str = "test"
    tie_policy: str = "realistic"
    candidates: tuple[str, ...] = CANDIDATE_SETS
    seed: int = 1
    memory_limit_mb: int | None = None
    progress: Progress = without_progress

    def evaluator(self, graph: Graph) -> Evaluator:
        """Returns the evaluator of a graph."""
        return Evaluator(
            graph,
            self.tie_policy,
            candidates=self.candidates,
            memory_limit_mb=self.memory_limit_mb,
            progress=self.progress,
        )


def evaluate_run(
    trained: Trained, options: Options | None = None, compare_with: Trained | None = None
) -> dict[str, Any]:
    """Evaluates the best weights of a run.

    Args:
        trained: The run.
        options: How; None: the defaults.
        compare_with: Another run on the same graph; its figures are subtracted.

    Returns:
        What `Evaluator.evaluate` returns, and `describe` adds; `"comparison"` if asked for.

    Raises:
        ConfigError: The runs are of different graphs, or the memory limit is too low.
        TrainingError: The model has no ranks.
    """
    options = options or Options()
    if compare_with is not None:
        check_same_graph(trained, compare_with)
    evaluator = options.evaluator(trained.graph)
    ranks = evaluator.rank(trained.model, options.split)
    result = {
        **evaluator.summarize(ranks),
        **describe(ranks, trained.graph, options.tie_policy, options.seed),
    }
    if compare_with is not None:
        other = evaluator.rank(compare_with.model, options.split)
        compared = compare(ranks, other, options.tie_policy, options.seed)
        result["comparison"] = {"run_dir": str(compare_with.run_dir), **compared}
    return result


def check_same_graph(one: Trained, other: Trained) -> None:
    """Raises ConfigError if two runs were not trained on the same graph."""
    if one.graph.fingerprint != other.graph.fingerprint:
        raise ConfigError(
            f"{one.run_dir} and {other.run_dir} are runs on different graphs "
            f"({one.graph.name} and {other.graph.name}), so their figures cannot be compared. "
            "Expected names and splits that are the same."
        )


def describe(ranks: SplitRanks, graph: Graph, tie_policy: str, seed: int = 1) -> dict[str, Any]:
    """Returns everything about a ranking beyond its five figures.

    Args:
        ranks: The ranking.
        graph: Its graph.
        tie_policy: How equal scores count.
        seed: Of the resamples.

    Returns:
        `adjusted_mean_rank_index`, `intervals`, `test_only_answers`, `relations`, `categories`,
        `unseen_entities`, and `tie_policies` if they matter; docs/evaluation.md has each.
    """
    values = ranks.values(tie_policy)
    intervals = statistics.bootstrap_intervals(values, seed=seed)
    result = {
        "adjusted_mean_rank_index": breakdowns.adjusted_mean_rank_index(ranks, tie_policy),
        "intervals": ranks.figures(intervals),
        "test_only_answers": {
            name: {s: unseen_answers(graph, ranks.split, name, s) for s in SIDES[1:]}
            for name in ranks.candidates
        },
        "relations": breakdowns.by_relation(ranks, values, graph),
        "categories": breakdowns.by_category(ranks, values, graph),
        "unseen_entities": breakdowns.unseen_entities(ranks, values, graph),
    }
    policies = tie_policies(ranks)
    return {**result, "tie_policies": policies} if policies else result


def tie_policies(ranks: SplitRanks) -> dict[str, Any]:
    """Returns `{policy: {set: {side: metrics}}}`.

    Empty if no metric of the optimistic and the pessimistic policy differs by more than 1e-4, or in
    the case of mean ranks by more than 1e-4 of them.
    """
    means = {policy: ranks.values(policy).mean(axis=0) for policy in TIE_POLICIES}
    best, worst = means["optimistic"], means["pessimistic"]
    # A mean rank of thousands shows one tie in its last digit: it is compared by its ratio.
    if (np.abs(worst - best) <= _SAME * np.maximum(best, 1)).all():
        return {}
    return {policy: ranks.figures(mean) for policy, mean in means.items()}


def compare(ranks: SplitRanks, other: SplitRanks, tie_policy: str, seed: int = 1) -> dict[str, Any]:
    """Returns `{set: {side: {metric: {"difference", "interval", "p_value"}}}}`: ranks less other.

    The two are paired triple by triple: intervals by bootstrap, p values by sign flips.
    """
    differences = ranks.values(tie_policy) - other.values(tie_policy)
    columns = {
        "difference": ranks.figures(differences.mean(axis=0)),
        "interval": ranks.figures(statistics.bootstrap_intervals(differences, seed=seed)),
        "p_value": ranks.figures(statistics.sign_flip_p_values(differences, seed=seed)),
    }
    return {
        name: {
            side: {
                metric: {key: column[name][side][metric] for key, column in columns.items()}
                for metric in METRICS
            }
            for side in SIDES
        }
        for name in ranks.candidates
    }
