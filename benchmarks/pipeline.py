"""Times the input pipeline of a recipe on one core beside the step that it feeds.

Usage: python -m benchmarks.pipeline --dataset=wn18rr [--recipe=sampled] [--output=FILE.json]

Measured in turns: batches made and thrown away, with one core for the whole process; the step alone
on one such batch, with all cores; and the step fed by the pipeline, as in training. The settings
are those of `trainers.fit`, with the same flags.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from absl import flags

from benchmarks import measure, trainer_flags
from datasets.program import run_program
from trainers.training import config as configs

if TYPE_CHECKING:
    from trainers.training.trainer import Trainer

_TRAINER = trainer_flags.TrainerFlags()
flags.adopt_module_key_flags(trainer_flags)
_BATCHES = flags.DEFINE_integer(
    "batches", 200, "Batches in a measurement of the pipeline. Two of them are made beforehand.", 1
)
_STEPS = flags.DEFINE_integer("steps", 10, "Steps in a measurement.", 1)
_ROUNDS = flags.DEFINE_integer("rounds", 7, "Measurements; the median is reported.", 1)
_OUTPUT = flags.DEFINE_string("output", None, "JSON file to write.")


def main(argv: Sequence[str]) -> None:
    """Measures and prints."""
    del argv
    measured = _TRAINER.make("pipeline")
    config, trainer = measured.config, measured.trainer
    times = measure.interleaved(_calls(trainer), rounds=_ROUNDS.value)
    result = _result(config, trainer.recipe, times)
    print(f"{measured.graph.name}, recipe {config.recipe}: {trainer.recipe.description}")
    for name, value in result["milliseconds"].items():
        print(f"{name:24s} {value:12.3f} ms a batch")
    for name, value in result["triples_per_second"].items():
        print(f"{name:24s} {value:12,.0f} triples/s")
    for name, value in result["ratios"].items():
        print(f"{name:24s} {value:12.2f}")
    print(f"{'epoch, fed':24s} {result['epoch_seconds']:12.2f} s")
    record = {"benchmark": "pipeline", "command": measured.command, **result}
    measure.write_json(_OUTPUT.value, record)


def _calls(trainer: "Trainer") -> dict[str, Callable[[], Any]]:
    """Returns calls of `--batches` batches and of `--steps` steps."""
    import tensorflow as tf

    batches = iter(trainer.recipe.batches().dataset())
    batch = next(batches)

    def step() -> tf.Tensor:
        objective = trainer.recipe.objective(trainer.model, batch)
        trainer.optimizer.apply(objective.gradients, trainer.model.trainable_variables)
        return objective.loss

    @tf.function
    def throw_away() -> tf.Tensor:
        total = 0
        for _ in tf.range(_BATCHES.value):
            total += tf.size(tf.nest.flatten(next(batches))[0])
        return total

    def on_one_core() -> None:
        with measure.on_cores(1):
            throw_away().numpy()

    return {
        "pipeline, one core": on_one_core,
        "step": measure.repeated(step, _STEPS.value),
        "step, fed": lambda: trainer.train(_STEPS.value),
    }


def _result(config: configs.TrainConfig, recipe: Any, times: dict[str, float]) -> dict[str, Any]:
    """Returns what a batch takes, what that makes a second, and the ratios."""
    counts = {"pipeline, one core": _BATCHES.value}
    each = {name: value / counts.get(name, _STEPS.value) for name, value in times.items()}
    # With the corrupted ones, where there are any.
    num_triples = recipe.triples_per_step
    if config.recipe == "paper":
        num_triples *= 1 + config.num_negatives
    return {
        "milliseconds": each,
        "triples_per_second": {name: 1e3 * num_triples / value for name, value in each.items()},
        "ratios": {
            "pipeline / demand": each["step"] / each["pipeline, one core"],
            "step, fed / step": each["step, fed"] / each["step"],
        },
        "epoch_seconds": recipe.steps_per_epoch * each["step, fed"] / 1e3,
    }


if __name__ == "__main__":
    run_program(main)
