"""The tables of a comparison, with published figures if available."""

import dataclasses
from collections.abc import Iterable, Iterator

from quatre_tf.ranking.results import Results
from trainers.comparison.plan import Comparison
from trainers.reporting.evaluation_tables import candidate_sets, claim, comparison, table_of
from trainers.reporting.rendering import Table, as_text

COSTS = ("parameters", "floats_per_entity", "minutes")
_BOTH = {"": {"side": "both"}}


def comparison_text(plan: Comparison, results: Results) -> str:
    """Returns the title and the tables as text."""
    return "\n\n".join([title(plan, results), *map(as_text, tables(plan, results))])


def title(plan: Comparison, results: Results) -> str:
    """Says what was trained how, and on what it was tested."""
    configs = plan.configs().values()
    recipes = " or ".join(dict.fromkeys(config.recipe for config in configs))
    epochs = sorted({config.epochs for config in configs})
    length = f"at most {' to '.join(f'{end:,}' for end in dict.fromkeys((epochs[0], epochs[-1])))}"
    budgets = {config.budget_minutes for config in configs}
    length = f"{budgets.pop():g} minutes" if any(budgets) else f"{length} epochs"
    return (
        f"{plan.dataset}, recipe {recipes}, {length} per run, {results.split} split: "
        f"{results.num_triples:,} triples, filtered, heads and tails, {results.tie_policy} ties"
    )


def tables(plan: Comparison, results: Results) -> Iterator[Table]:
    """Yields means over the seeds, differences from the first model, runs, and costs."""
    seeds = ", ".join(map(str, plan.seeds))
    over_seeds = f"Mean over seeds {seeds}" if len(plan.seeds) > 1 else f"Seed {seeds}"
    headings = {claim(results, name): {"candidates": name} for name in plan.candidates}
    models = rows_of(results, [name for model in plan.models for name in names(results, model)])
    yield table_of(models, f"{over_seeds}, with 95 % bootstrap intervals", headings, _BOTH)
    yield from comparison(rows_of(results, plan.models), _BOTH)
    if len(plan.seeds) > 1:
        runs = rows_of(results, plan.configs())
        yield table_of(runs, "Each run", candidate_sets(runs), _BOTH)
    cost_headings = {"": {"candidates": "", "side": ""}}
    yield table_of(rows_of(results, plan.models), "Cost", cost_headings, {"": {}}, COSTS)


def names(results: Results, model: str) -> list[str]:
    """Returns what rows about a model are called: its name, then "MODEL, SOURCE"."""
    return [run for run in results.runs if run.partition(", ")[0] == model]


def rows_of(results: Results, runs: Iterable[str]) -> Results:
    """Returns the rows of some runs."""
    runs = set(runs)
    chosen = tuple(row for row in results.rows if row.run in runs)
    return dataclasses.replace(results, rows=chosen)
