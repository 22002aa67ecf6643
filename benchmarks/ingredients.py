"""What each ingredient of the `sampled` recipe is worth: one change at a time, on validation.

Usage: python -m benchmarks.ingredients --dataset=fb15k237 --output=FILE.json [--seeds=1,2]

All runs have the same number of epochs. The file is written after every run; the same command does
what is missing in it.
"""

import json
import pathlib
import sys
from collections.abc import Sequence
from typing import Any

from absl import flags

from benchmarks import ingredients_plan as plan
from benchmarks import measure
from datasets import catalog
from datasets.program import import_tensorflow, run_program
from datasets.text_table import table
from trainers.training.config import TrainConfig

_DATASET = flags.DEFINE_string("dataset", "fb15k237", "Name of a data set, or a folder.")
_SEEDS = flags.DEFINE_list("seeds", ["1", "2"], "Of initialisation and batches.")
_MANUAL_DIR = flags.DEFINE_string("manual_dir", None, "Folder with archives already at hand.")
_OUTPUT = flags.DEFINE_string("output", None, "JSON file of the figures.", required=True)
_STEPS_PER_CALL = 50


def main(argv: Sequence[str]) -> None:
    """Does the runs that the file does not have yet."""
    del argv
    path = pathlib.Path(_OUTPUT.value)
    dataset = _DATASET.value
    result = json.loads(path.read_text("utf-8")) if path.exists() else plan.begin(dataset)
    import_tensorflow()
    graph = catalog.load(dataset, manual_dir=_MANUAL_DIR.value)
    for run in plan.runs(dataset, [int(seed) for seed in _SEEDS.value]):
        if not plan.has(result, run):
            figures = _train(run.config, graph)
            sys.stdout.write(f"{run.ingredient}, seed {run.config.seed}: {figures}\n")
            plan.add(result, run, figures)
            measure.write_json(_OUTPUT.value, result)
    sys.stdout.write(f"\n{table(plan.table(result))}\n")


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
    return Evaluator(graph).evaluate(trainer.model, "valid")["candidates"]["all"]["both"]


if __name__ == "__main__":
    run_program(main)
