"""The figures of an ablation over seeds, and the paper's Table 4 beside them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from datasets.text_table import table
from trainers.reporting import text as report
from trainers.training.config import TrainConfig

_METRICS = {"mrr": "MRR", "hits@10": "H@10"}
# Nguyen et al., QuatRE, WWW 2022 Companion: Tables 2 and 4, which rank among the entities that the
# relation has in that slot in any split. One run each.
_PAPER_SET = "type_constrained"
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
_TITLES = {
    "all": "all entities as candidates",
    "type_constrained": "candidates that the relation has in that slot in train, valid or TEST",
    "train_type_constrained": "candidates that the relation has in that slot in train",
}


def summarize(
    configs: Mapping[str, TrainConfig], results: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Returns the figures of both sides together, over the seeds.

    Args:
        configs: Settings of each run, by its name.
        results: Test metrics of each run (`Evaluator.evaluate`), by its name.

    Returns:
        `{"dataset", "recipe", "split", "num_triples", "tie_policy", "seeds", "settings",
        "candidates": {SET: {VARIANT: {METRIC: {"mean", "min", "max", "runs": {RUN: value}}}}},
        "paper": {SET: {VARIANT: {METRIC: value}}}}`. Where the runs have bootstrap intervals,
        "bootstrap" is their `[low, high]`, averaged over the seeds. The sets are those that every
        run has.
    """
    runs: dict[str, list[str]] = {}
    for name, config in configs.items():
        runs.setdefault(config.model, []).append(name)
    first_config, first = next(iter(configs.values())), next(iter(results.values()))
    sets = [name for name in first["candidates"] if _all_have(results, name)]
    settings = {
        name: value
        for name, value in vars(first_config).items()
        if name not in ("dataset", "recipe", "model", "seed", "tie_policy")
    }
    return {
        "dataset": first_config.dataset,
        "recipe": first_config.recipe,
        **{key: first[key] for key in ("split", "num_triples", "tie_policy")},
        "seeds": sorted({config.seed for config in configs.values()}),
        "settings": settings,
        "candidates": {
            candidates: {
                variant: _over_seeds({name: results[name] for name in names}, candidates)
                for variant, names in runs.items()
            }
            for candidates in sets
        },
        "paper": _paper(first_config.dataset, list(runs)),
    }


def ablation_text(summary: Mapping[str, Any]) -> str:
    """Returns a table for each set of candidates: a row a variant."""
    seeds = ", ".join(map(str, summary["seeds"]))
    spread = "mean [min, max] over seeds" if len(summary["seeds"]) > 1 else "seed"
    settings = summary["settings"]
    length = f"At most {settings['epochs']:,} epochs"
    if settings["budget_minutes"]:
        length = f"{settings['budget_minutes']:g} minutes a run"
    title = (
        f"Ablation on {summary['dataset']}, {summary['split']} split: "
        f"{summary['num_triples']:,} triples, filtered, heads and tails, {summary['tie_policy']} "
        f"ties\n{length}; {spread} {seeds}"
    )
    parts = [_set_text(summary, candidates) for candidates in summary["candidates"]]
    return "\n\n".join([title, *parts])


def _all_have(results: Mapping[str, Mapping[str, Any]], candidates: str) -> bool:
    return all(candidates in result["candidates"] for result in results.values())


def _over_seeds(results: Mapping[str, Mapping[str, Any]], candidates: str) -> dict[str, Any]:
    """Returns, by metric, the statistics of the runs of a variant."""
    figures: dict[str, Any] = {}
    for metric in report.METRICS:
        runs = {name: r["candidates"][candidates]["both"][metric] for name, r in results.items()}
        values = list(runs.values())
        figures[metric] = {
            "mean": float(np.mean(values)),
            "min": min(values),
            "max": max(values),
            "runs": runs,
        }
        found = [_interval(result, candidates, metric) for result in results.values()]
        intervals = [interval for interval in found if interval is not None]
        if len(intervals) == len(found):
            figures[metric]["bootstrap"] = np.mean(intervals, axis=0).tolist()
    return figures


def _interval(result: Mapping[str, Any], candidates: str, metric: str) -> Sequence[float] | None:
    by_side = result.get("intervals", {}).get(candidates, {})
    return by_side.get("both", {}).get(metric)


def _paper(dataset: str, variants: Sequence[str]) -> dict[str, Any]:
    """Returns the paper's figures of these variants, for the set of candidates it reports."""
    figures = _PAPER.get(dataset, {})
    rows = {
        variant: dict(zip(_METRICS, figures[variant], strict=True))
        for variant in variants
        if variant in figures
    }
    return {_PAPER_SET: rows} if rows else {}


def _set_text(summary: Mapping[str, Any], candidates: str) -> str:
    by_variant, paper = summary["candidates"][candidates], summary["paper"].get(candidates, {})
    columns = [["", *by_variant]]
    for metric, title in _METRICS.items():
        figures = [by_variant[variant][metric] for variant in by_variant]
        columns.append([title, *map(_spread, figures)])
        if all("bootstrap" in figure for figure in figures):
            columns.append(["95 % bootstrap", *(_range(f["bootstrap"]) for f in figures)])
    for metric, title in _METRICS.items():
        if paper:
            figures = [paper.get(variant, {}).get(metric) for variant in by_variant]
            columns.append([f"paper's {title}", *(f"{f:.3f}" if f else "" for f in figures)])
    rows = [list(row) for row in zip(*columns, strict=True)]
    return f"{_TITLES.get(candidates, candidates)}\n{table(rows)}"


def _spread(figure: Mapping[str, Any]) -> str:
    several = len(figure["runs"]) > 1
    return f"{figure['mean']:.4f}" + (
        f" {_range([figure['min'], figure['max']])}" if several else ""
    )


def _range(ends: Sequence[float]) -> str:
    return f"[{ends[0]:.4f}, {ends[1]:.4f}]"
