"""Evaluations of the runs of a report."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from quatre_tf.data.graph import Graph
from quatre_tf.data.relation_categories import CATEGORIES, relation_categories
from quatre_tf.ranking import evaluation as evaluating
from quatre_tf.ranking import statistics
from quatre_tf.ranking.split_ranks import SplitRanks
from quatre_tf.run import Trained

Result = dict[str, Any]


def evaluate(runs: Mapping[str, Trained]) -> dict[str, Result]:
    """Ranks the test split once with each run, among all candidate sets.

    Args:
        runs: On the same graph, by name.

    Returns:
        By name what `evaluating.evaluate_run` returns, with `"intervals"` of each relation and
        category beside its figures. The first of two has the comparison with the second.
    """
    options, (first, *others) = evaluating.Options(), runs
    graph = runs[first].graph
    evaluator = options.evaluator(graph)
    ranks = {name: evaluator.rank(run.model, options.split) for name, run in runs.items()}
    results = {
        name: {
            **evaluator.summarize(found),
            **evaluating.describe(found, graph, options.tie_policy, options.seed),
        }
        for name, found in ranks.items()
    }
    for name, found in ranks.items():
        _add_intervals(results[name], found, graph, options)
    for other in others:
        compared = evaluating.compare(ranks[first], ranks[other], options.tie_policy, options.seed)
        results[first]["comparison"] = {"run_dir": str(runs[other].run_dir), **compared}
    return results


def _add_intervals(
    result: Result, ranks: SplitRanks, graph: Graph, options: evaluating.Options
) -> None:
    """Adds the intervals of parts: `{"num_triples", side: metrics, "intervals": {side: ...}}`."""
    relations, values = ranks.triples[:, 1], ranks.values(options.tie_policy)
    parts = [(result["relations"], relations, graph.relations.names)]
    for definition, triples in (("all_splits", graph.known), ("train", graph.train)):
        category = relation_categories(triples, graph.num_relations)
        named = np.array(CATEGORIES)
        parts.append((result["categories"][definition], category[relations], named))
    for found, members, names in parts:
        for part in np.unique(members[members >= 0]):
            chosen = values[members == part]
            ends = statistics.bootstrap_intervals(chosen, seed=options.seed)
            for candidates, sides in ranks.figures(ends).items():
                found[candidates][names[part]]["intervals"] = sides
