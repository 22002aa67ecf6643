"""Measures what each ingredient of the `sampled` recipe contributes: one change at a time.

Usage: python -m benchmarks.ingredients --dataset=fb15k237 --output=FILE.json [--seeds=1,2]

All runs have the same number of epochs and are compared on the validation split. The file is
written after every run; the same command completes it and prints the table of docs/recipes.md.
"""

import dataclasses
import json
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from absl import flags

from benchmarks import measure
from datasets import catalog
from datasets.program import import_tensorflow, run_program
from trainers.training import presets
from trainers.training.config import REGULARIZERS, TrainConfig

RECIPE = "sampled"
BASELINE = "the recipe"
# One change at a time.
CHANGES: dict[str, dict[str, Any]] = {
    BASELINE: {},
    "heads asked with the same relation rows": {"reciprocal": False},
    "no rotations (QuatE)": {"model": "quate"},
    "relations normalized": {"normalize_relations": True},
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
    "500 queries a step": {"batch_size": 500},
    "relation prediction 0.3": {"relation_prediction": 0.3},
}
# Small enough for many runs, large enough to rank like the preset. The base is regularized with N3,
# and the weights of regularizers above are factors of its weight.
_BUDGETS: dict[str, dict[str, Any]] = {
    "wn18rr": {"embedding_dim": 64, "epochs": 10, "n3": 0.1, "dura": 0.0},
    "fb15k237": {"embedding_dim": 64, "epochs": 6},
}
_STEPS_PER_CALL = 50


def define_flags() -> None:
    """Defines the flags; importing the module does not, so tests may import many programs."""
    flags.DEFINE_string("dataset", "fb15k237", "Name of a data set, or a folder.")
    flags.DEFINE_list("seeds", ["1", "2"], "Seeds of initial values and batches.")
    flags.DEFINE_string("manual_dir", None, "Folder with downloaded archives.")
    flags.DEFINE_string("output", None, "JSON file of the figures.", required=True)


def main() -> None:
    """Trains what the file does not have yet."""
    given = flags.FLAGS
    path = pathlib.Path(given.output)
    result = json.loads(path.read_text("utf-8")) if path.exists() else begin(given.dataset)
    import_tensorflow()
    graph = catalog.load(given.dataset, manual_dir=given.manual_dir)
    for ingredient, config in runs(given.dataset, [int(seed) for seed in given.seeds]):
        if str(config.seed) not in result["validation"].get(ingredient, {}):
            figures = _train(config, graph)
            print(f"{ingredient}, seed {config.seed}: {figures}", flush=True)
            add(result, ingredient, config.seed, figures)
            measure.write_json(given.output, result)
    header, *rows = table(result)
    print(f"\n{measure.markdown_table(header, rows)}")


def runs(dataset: str, seeds: Sequence[int]) -> Iterator[tuple[str, TrainConfig]]:
    """Yields each ingredient with its settings, seed after seed; all have the same epochs."""
    for seed in seeds:
        for ingredient, changes in CHANGES.items():
            yield ingredient, _config(dataset, {**changes, "seed": seed})


def _config(dataset: str, changes: Mapping[str, Any]) -> TrainConfig:
    preset = presets.resolve(dataset, RECIPE, _BUDGETS.get(dataset, {}))
    settings = {**dataclasses.asdict(preset), "validate_every": preset.epochs, **changes}
    for name in changes.keys() & set(REGULARIZERS):
        settings[name] = changes[name] * preset.n3
    if settings["recipe"] != RECIPE:
        del settings["num_candidates"]
    return TrainConfig(**settings)


def _train(config: TrainConfig, graph: Any) -> dict[str, float]:
    """Returns the validation figures at the end of a training, all entities as candidates."""
    import keras
    import tensorflow as tf

    from quatre_tf.ranking.evaluator import Evaluator
    from trainers.training.trainer import Trainer

    keras.backend.clear_session()
    trainer = Trainer(config, graph, tf.distribute.get_strategy())
    steps = config.epochs * trainer.recipe.steps_per_epoch
    for start in range(0, steps, _STEPS_PER_CALL):
        trainer.train(min(_STEPS_PER_CALL, steps - start))
    return Evaluator(graph).evaluate(trainer.model, "valid").metrics()


def begin(dataset: str) -> dict[str, Any]:
    """Returns the content of a results file before its first run."""
    return {
        "benchmark": "ingredients",
        "dataset": dataset,
        "command": measure.command("ingredients", dataset=dataset, output="FILE.json"),
        "config": dataclasses.asdict(_config(dataset, {})),
        "validation": {},
    }


def add(result: dict[str, Any], ingredient: str, seed: int, figures: Mapping[str, float]) -> None:
    """Adds the validation figures of a run to the content of a results file."""
    result["validation"].setdefault(ingredient, {})[str(seed)] = dict(figures)


def table(result: Mapping[str, Any]) -> list[list[str]]:
    """Returns header and rows: MRR and Hits@10 of each change and their differences.

    A difference is the mean over the seeds of the differences between two runs of one seed; the
    smallest and the largest follow in parentheses.
    """
    rows = [["", "MRR", "difference", "Hits@10", "difference"]]
    base = result["validation"][BASELINE]
    for ingredient, by_seed in result["validation"].items():
        cells = [ingredient]
        for metric, scale, digits in (("mrr", 1.0, 4), ("hits@10", 100.0, 1)):
            seeds = [seed for seed in base if seed in by_seed]
            values = [scale * by_seed[seed][metric] for seed in seeds]
            differences = np.subtract(values, [scale * base[seed][metric] for seed in seeds])
            spread = f"{differences.min():+.{digits}f} to {differences.max():+.{digits}f}"
            difference = f"{differences.mean():+.{digits}f} ({spread})"
            cells.append(f"{np.mean(values):.{digits}f}")
            cells.append("" if ingredient == BASELINE else difference)
        rows.append(cells)
    return rows


if __name__ == "__main__":
    define_flags()
    run_program(main)
