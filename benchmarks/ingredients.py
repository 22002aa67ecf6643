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
from trainers.reporting.rendering import Table, as_markdown
from trainers.training import presets
from trainers.training.config import REGULARIZERS, TrainConfig

_DATASET = flags.DEFINE_string("dataset", "fb15k237", "Name of a data set, or a folder.")
_SEEDS = flags.DEFINE_list("seeds", ["1", "2"], "Seeds of initial values and batches.")
_MANUAL_DIR = flags.DEFINE_string("manual_dir", None, "Folder with downloaded archives.")
flags.mark_flag_as_required("output")
_RECIPE = "sampled"
_BASELINE = "the recipe"
# One change at a time.
_CHANGES: dict[str, dict[str, Any]] = {
    _BASELINE: {},
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


def main() -> None:
    """Trains what the file does not have yet."""
    dataset, path = _DATASET.value, pathlib.Path(flags.FLAGS.output)
    result: dict[str, Any] = {"dataset": dataset, "validation": {}}
    if path.exists():
        result = json.loads(path.read_text("utf-8"))
    import_tensorflow()
    graph = catalog.load(dataset, manual_dir=_MANUAL_DIR.value)
    for ingredient, config in _runs(dataset, [int(seed) for seed in _SEEDS.value]):
        of_ingredient = result["validation"].setdefault(ingredient, {})
        if str(config.seed) not in of_ingredient:
            of_ingredient[str(config.seed)] = _train(config, graph)
            print(f"{ingredient}, seed {config.seed}: {of_ingredient}", flush=True)
            measure.write_result({"config": dataclasses.asdict(_config(dataset, {})), **result})
    print(f"\n{as_markdown(_table(result['validation']))}")


def _runs(dataset: str, seeds: Sequence[int]) -> Iterator[tuple[str, TrainConfig]]:
    """Yields each ingredient with its settings, seed after seed; all have the same epochs."""
    for seed in seeds:
        for ingredient, changes in _CHANGES.items():
            yield ingredient, _config(dataset, {**changes, "seed": seed})


def _config(dataset: str, changes: Mapping[str, Any]) -> TrainConfig:
    preset = presets.resolve(dataset, _RECIPE, _BUDGETS.get(dataset, {}))
    settings = {**dataclasses.asdict(preset), "validate_every": preset.epochs, **changes}
    for name in changes.keys() & set(REGULARIZERS):
        settings[name] = changes[name] * preset.n3
    if settings["recipe"] != _RECIPE:
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


def _table(validation: Mapping[str, Any]) -> Table:
    """Returns MRR and Hits@10 of each change and their differences.

    A difference is the mean over the seeds of the differences between two runs of one seed; the
    smallest and the largest follow in parentheses.
    """
    rows = []
    base = validation[_BASELINE]
    for ingredient, by_seed in validation.items():
        cells = [ingredient]
        for metric, scale, digits in (("mrr", 1.0, 4), ("hits@10", 100.0, 1)):
            seeds = [seed for seed in base if seed in by_seed]
            values = [scale * by_seed[seed][metric] for seed in seeds]
            differences = np.subtract(values, [scale * base[seed][metric] for seed in seeds])
            spread = f"{differences.min():+.{digits}f} to {differences.max():+.{digits}f}"
            difference = f"{differences.mean():+.{digits}f} ({spread})"
            cells.append(f"{np.mean(values):.{digits}f}")
            cells.append("" if ingredient == _BASELINE else difference)
        rows.append(cells)
    return Table("", ["", "MRR", "difference", "Hits@10", "difference"], rows)


if __name__ == "__main__":
    run_program(main)
