"""Times the input pipeline of a recipe on one core, and the training step that it feeds.

Usage: python -m benchmarks.pipeline --dataset=wn18rr [--recipe=sampled] [--output=FILE.json]

Three measurements take turns: batches made and thrown away, with one core for the whole process;
the step alone on one such batch, with all cores; and the step fed by the pipeline, as in training.
The flags are those of `quatre fit`.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from absl import flags

from benchmarks import measure
from datasets.data_flags import DataFlags
from datasets.program import import_tensorflow, run_program
from trainers import setting_flags
from trainers.training import presets

if TYPE_CHECKING:
    from trainers.training.trainer import Trainer

_DATA = DataFlags("wn18rr")
_SETTINGS = setting_flags.SettingFlags(without=("strategy", "num_replicas"))
_BATCHES = flags.DEFINE_integer(
    "batches", 200, "Batches in a measurement of the pipeline. Two of them are made beforehand.", 1
)
_STEPS = flags.DEFINE_integer("steps", 10, "Steps in a measurement.", 1)
_ROUNDS = flags.DEFINE_integer("rounds", 7, "Measurements; the median is reported.", 1)


def main() -> None:
    """Measures and prints."""
    given = _SETTINGS.given()
    recipe = given.pop("recipe", "paper")
    config = presets.resolve(_DATA.dataset, recipe, given)
    import_tensorflow()
    import tensorflow as tf

    from datasets import catalog
    from trainers.training.trainer import Trainer

    graph = catalog.load(config.dataset, **_DATA.given())
    trainer = Trainer(config, graph, tf.distribute.get_strategy())
    times = measure.interleaved(_calls(trainer), rounds=_ROUNDS.value)
    # In `paper` the pipeline also makes the negatives.
    rows_per_triple = 1 + config.num_negatives if recipe == "paper" else 1
    result = _result(trainer, times, rows_per_triple)
    print(f"{graph.name}, recipe {recipe}: {trainer.recipe.description}")
    for name, value in result["milliseconds"].items():
        print(f"{name:24s} {value:12.3f} ms a batch")
    for name, value in result["triples_per_second"].items():
        print(f"{name:24s} {value:12,.0f} triples/s")
    for name, value in result["ratios"].items():
        print(f"{name:24s} {value:12.2f}")
    print(f"{'epoch, fed':24s} {result['epoch_seconds']:12.2f} s")
    measure.write_result(result)


def _calls(trainer: "Trainer") -> dict[str, Callable[[], Any]]:
    """Returns calls of `--batches` batches and of `--steps` steps."""
    import tensorflow as tf

    batches = iter(trainer.recipe.batches().dataset())
    step = measure.training_step(trainer, next(batches))

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


def _result(trainer: "Trainer", times: dict[str, float], rows_per_triple: int) -> dict[str, Any]:
    """Returns the milliseconds of a batch, triples per second, and the ratios."""
    counts = {"pipeline, one core": _BATCHES.value}
    each = {name: value / counts.get(name, _STEPS.value) for name, value in times.items()}
    num_triples = trainer.recipe.triples_per_step * rows_per_triple
    return {
        "milliseconds": each,
        "triples_per_second": {name: 1e3 * num_triples / value for name, value in each.items()},
        "ratios": {
            "pipeline / demand": each["step"] / each["pipeline, one core"],
            "step, fed / step": each["step, fed"] / each["step"],
        },
        "epoch_seconds": trainer.recipe.steps_per_epoch * each["step, fed"] / 1e3,
    }


if __name__ == "__main__":
    run_program(main)
