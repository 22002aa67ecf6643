"""The figures of a search: trials.csv, best.json, and the tables that are printed."""

import shlex
from collections.abc import Sequence
from typing import Any

import numpy as np

from quatre_tf.ranking.results import METRICS
from trainers.commands import command_of
from trainers.reporting import formatting
from trainers.reporting.rendering import Table, as_text
from trainers.training.config import TrainConfig
from trainers.tuning.plan import Search
from trainers.tuning.trials import COMPLETED, TrialRun


def best_trials(results: Sequence[TrialRun], seed: int) -> list[TrialRun]:
    """Returns the completed runs with a seed, the best first."""
    completed = [r for r in results if r.state == COMPLETED and r.config.seed == seed]
    return sorted(completed, key=lambda result: -result.value)


def csv_row(search: Search, result: TrialRun) -> dict[str, Any]:
    """Returns a row of trials.csv: settings that vary, how it ended, and its best validation."""
    best = result.best or {}
    return {
        "run": result.path.name,
        **_settings(search, result.config),
        "seed": result.config.seed,
        "state": result.state,
        "epochs": f"{result.epochs:g}",
        "minutes": f"{result.seconds / 60:.2f}",
        "value": best.get(result.config.best_by, ""),
        "best_epoch": best.get("epoch", ""),
        **{name: best.get(name, "") for name in METRICS},
    }


def summarize(search: Search, results: Sequence[TrialRun]) -> dict[str, Any]:
    """Returns the configurations that were completed, the best first; what best.json holds.

    Those judged over more seeds come first, and of those the one with the higher mean.

    Returns:
        `{"dataset", "recipe", "best_by", "configurations": [{"trial", "settings", "values": {seed:
        value}, "mean", "min", "max", "run_dir", "command"}]}`. The run is the one with the first
        seed, and the command trains it anew.
    """
    base = search.base()
    standings = [
        _standing(search, first, results) for first in best_trials(results, search.seeds[0])
    ]
    standings.sort(key=lambda standing: (-len(standing["values"]), -standing["mean"]))
    return {
        "dataset": base.dataset,
        "recipe": base.recipe,
        "best_by": base.best_by,
        "configurations": standings,
    }


def _standing(search: Search, first: TrialRun, results: Sequence[TrialRun]) -> dict[str, Any]:
    runs = [r for r in results if r.number == first.number and r.state == COMPLETED]
    values = {str(run.config.seed): run.value for run in runs}
    return {
        "trial": first.number,
        "settings": _settings(search, first.config),
        "values": values,
        "mean": float(np.mean(list(values.values()))),
        "min": min(values.values()),
        "max": max(values.values()),
        "run_dir": str(first.path),
        "command": command_of(first.config),
    }


def search_text(search: Search, results: Sequence[TrialRun]) -> str:
    """Returns all runs, the completed trials over the seeds, and what to do with the best."""
    summary = summarize(search, results)
    best_by = formatting.TITLES[summary["best_by"]]
    title = f"Search on {summary['dataset']}, recipe {summary['recipe']}: {len(results)} runs"
    header = ["", *search.space, "state", "epochs", "time", f"valid {best_by}"]
    rows = [_row(search, result) for result in sorted(results, key=lambda r: -r.value)]
    parts = [as_text(Table(title, header, rows))]
    if len(search.seeds) > 1:
        parts.append(_seeds_text(summary, best_by))
    return "\n\n".join([*parts, _winner_text(summary)])


def _row(search: Search, result: TrialRun) -> list[str]:
    settings = (f"{value:g}" for value in _settings(search, result.config).values())
    value = f"{result.value:.4f}" if result.best else "-"
    ended = [result.state, f"{result.epochs:g}", formatting.duration(result.seconds)]
    return [result.path.name, *settings, *ended, value]


def _seeds_text(summary: dict[str, Any], best_by: str) -> str:
    rows = []
    for standing in summary["configurations"]:
        spread = f"{standing['mean']:.4f} [{standing['min']:.4f}, {standing['max']:.4f}]"
        rows.append([f"trial-{standing['trial']:03d}", spread, ", ".join(standing["values"])])
    header = ["", f"valid {best_by} over seeds", "seeds"]
    return as_text(Table("Completed trials, mean [min, max]", header, rows))


def _winner_text(summary: dict[str, Any]) -> str:
    if not summary["configurations"]:
        return (
            "No trial was completed. The same command with a larger budget continues those that "
            "did not fail."
        )
    winner = summary["configurations"][0]
    return (
        f"Best: trial-{winner['trial']:03d}, validation mean {winner['mean']:.4f}\n"
        f"To rank the test split and export it:\n"
        f"  quatre fit --run_dir={shlex.quote(winner['run_dir'])} --resume\n"
        f"To train it anew:\n  {winner['command']}"
    )


def _settings(search: Search, config: TrainConfig) -> dict[str, Any]:
    return {name: getattr(config, name) for name in search.space}
