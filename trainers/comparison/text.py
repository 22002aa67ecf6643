"""The tables of a comparison, with the paper's own figures where it has some."""

import dataclasses
from collections.abc import Iterator, Sequence

from quatre_tf.ranking.results import Results, Row
from trainers.comparison.plan import Comparison
from trainers.reporting.evaluation_tables import candidate_sets, claim, comparison, table_of
from trainers.reporting.rendering import as_text

COSTS = ("parameters", "floats_per_entity", "minutes")
# Nguyen et al., QuatRE, WWW 2022 Companion: MRR and Hits@10 of Tables 2 and 4, one run each. They
# rank among the entities that the relation has in that slot in any split.
_PAPER_CANDIDATES = "type_constrained"
_PAPER: dict[str, dict[str, tuple[float, float]]] = {
    "wn18rr": {
        "quatre": (0.493, 0.592),
        "quatre_head": (0.491, 0.589),
        "quatre_tail": (0.491, 0.588),
        "quate": (0.488, 0.582),
    },
    "fb15k237": {
        "quatre": (0.367, 0.563),
        "quatre_head": (0.364, 0.560),
        "quatre_tail": (0.364, 0.561),
        "quate": (0.348, 0.550),
    },
}
_BOTH = {"": {"side": "both"}}


def paper_rows(plan: Comparison, like: Row) -> Iterator[Row]:
    """Yields the paper's figures of the models on this dataset, if it has any.

    Args:
        plan: The comparison.
        like: A row of the same split.
    """
    if _PAPER_CANDIDATES not in plan.candidates:
        return
    for model, figures in _PAPER.get(plan.dataset, {}).items():
        if model in plan.models:
            place = (like.split, like.tie_policy, _PAPER_CANDIDATES, "both", like.num_triples)
            for metric, value in zip(("mrr", "hits@10"), figures, strict=True):
                yield Row(*place, metric, value, run=_paper_name(model))


def comparison_text(plan: Comparison, results: Results) -> str:
    """Returns the tables: means over the seeds, differences from the first model, runs, costs."""
    config = next(iter(plan.configs().values()))
    seeds = ", ".join(map(str, plan.seeds))
    length = f"at most {config.epochs:,} epochs"
    if config.budget_minutes:
        length = f"{config.budget_minutes:g} minutes"
    title = (
        f"{plan.dataset}, recipe {plan.recipe}, {length} per run, {results.split} split: "
        f"{results.num_triples:,} triples, filtered, heads and tails, {results.tie_policy} ties"
    )
    over_seeds = f"Mean over seeds {seeds}" if len(plan.seeds) > 1 else f"Seed {seeds}"
    headings = {claim(results, name): {"candidates": name} for name in plan.candidates}
    models = _of(results, [*plan.models, *map(_paper_name, plan.models)])
    tables = [
        table_of(models, f"{over_seeds}, with 95 % bootstrap intervals", headings, _BOTH),
        *comparison(_of(results, plan.models), _BOTH),
    ]
    if len(plan.seeds) > 1:
        runs = _of(results, list(plan.configs()))
        tables.append(table_of(runs, "Each run", candidate_sets(runs), _BOTH))
    cost_headings = {"": {"candidates": "", "side": ""}}
    tables.append(table_of(_of(results, plan.models), "Cost", cost_headings, {"": {}}, COSTS))
    return "\n\n".join([title, *map(as_text, tables)])


def _of(results: Results, runs: Sequence[str]) -> Results:
    """Returns the rows of some runs."""
    chosen = tuple(row for row in results.rows if row.run in runs)
    return dataclasses.replace(results, rows=chosen)


def _paper_name(model: str) -> str:
    return f"{model}, paper"
