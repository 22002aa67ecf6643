"""What each ingredient of the `sampled` recipe is worth: the runs, and the table of them."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trainers.training import presets
from trainers.training.config import REGULARIZERS, TrainConfig

RECIPE = "sampled"
BASELINE = "the recipe"
# One change at a time. What makes a step cheaper but leaves its result alone (queries in place of
# triples, closed-form gradients) is measured by benchmarks/train_step.py.
CHANGES: dict[str, dict[str, Any]] = {
    BASELINE: {},
    "heads asked with the same relation rows": {"reciprocal": False},
    "no rotations (QuatE)": {"variant": "quate"},
    "relations normalised": {"normalize_relations": True},
    "start: Glorot uniform": {"init_scale": 0.0},
    "no N3": {"n3": 0.0},
    "half the N3": {"n3": 0.5},
    "twice the N3": {"n3": 2.0},
    "DURA in place of N3": {"n3": 0.0, "dura": 1.2},
    "constant learning rate": {"lr_decay": "none"},
    "learning rate 0.2": {"learning_rate": 0.2},
    "float32 products": {"compute_dtype": "float32"},
    "1,024 candidates": {"num_candidates": 1024},
    "all entities as candidates": {"recipe": "strong"},
    "all entities, label smoothing 0.1": {"recipe": "strong", "label_smoothing": 0.1},
    "500 queries a step": {"batch_size": 500},
    "relation prediction 0.3": {"relation_prediction": 0.3},
}
# Small enough for many runs, large enough to rank like the preset. The base is regularised with N3,
# and both regularisers count beside its weight.
_BUDGETS: dict[str, dict[str, Any]] = {
    "wn18rr": {"embedding_dim": 64, "epochs": 10, "n3": 0.1, "dura": 0.0},
    "fb15k237": {"embedding_dim": 64, "epochs": 6},
}


@dataclasses.dataclass(frozen=True)
class Run:
    """A training of the table.

    Attributes:
        ingredient: A key of `CHANGES`.
        config: Its settings.
    """

    ingredient: str
    config: TrainConfig


def runs(dataset: str, seeds: Sequence[int]) -> list[Run]:
    """Returns the runs of a table, seed after seed; each has the same number of epochs."""
    return [
        Run(ingredient, _config(dataset, {**changes, "seed": seed}))
        for seed in seeds
        for ingredient, changes in CHANGES.items()
    ]


def _config(dataset: str, changes: Mapping[str, Any]) -> TrainConfig:
    budget = _BUDGETS.get(dataset, {})
    preset = presets.resolve(dataset, RECIPE, budget)
    settings = {**dataclasses.asdict(preset), "validate_every": preset.epochs, **changes}
    for name in changes.keys() & set(REGULARIZERS):
        settings[name] = changes[name] * preset.n3
    if settings["recipe"] != RECIPE:
        del settings["num_candidates"]
    return TrainConfig(**settings)


def begin(dataset: str) -> dict[str, Any]:
    """Returns the content of a results file before its first run."""
    return {
        "kind": "ingredients",
        "dataset": dataset,
        "command": f"python -m benchmarks.ingredients --dataset={dataset} --output=FILE.json",
        "config": dataclasses.asdict(_config(dataset, {})),
        "validation": {},
    }


def add(result: dict[str, Any], run: Run, figures: Mapping[str, float]) -> None:
    """Puts the validation figures of a run into a results file's content."""
    entry = {"changes": CHANGES[run.ingredient], "seeds": {}}
    entry = result["validation"].setdefault(run.ingredient, entry)
    entry["seeds"][str(run.config.seed)] = dict(figures)


def has(result: Mapping[str, Any], run: Run) -> bool:
    """Returns whether the figures of a run are there."""
    entry = result["validation"].get(run.ingredient, {"seeds": {}})
    return str(run.config.seed) in entry["seeds"]


def table(result: Mapping[str, Any]) -> list[list[str]]:
    """Returns header and rows: MRR and Hits@10 of each change, and what they differ by.

    A difference is the mean over the seeds of that between two runs of one seed; behind it stand
    the smallest and the largest.
    """
    rows = [["", "MRR", "difference", "Hits@10", "difference"]]
    base = result["validation"][BASELINE]["seeds"]
    for ingredient, entry in result["validation"].items():
        cells = [ingredient]
        for metric, scale, digits in (("mrr", 1.0, 4), ("hits@10", 100.0, 1)):
            seeds = [seed for seed in base if seed in entry["seeds"]]
            values = [scale * entry["seeds"][seed][metric] for seed in seeds]
            references = [scale * base[seed][metric] for seed in seeds]
            cells.append(f"{np.mean(values):.{digits}f}")
            cells.append("" if ingredient == BASELINE else _difference(values, references, digits))
        rows.append(cells)
    return rows


def _difference(values: Sequence[float], references: Sequence[float], digits: int) -> str:
    differences = np.subtract(values, references)
    ends = f"{differences.min():+.{digits}f} to {differences.max():+.{digits}f}"
    return f"{differences.mean():+.{digits}f} ({ends})"
