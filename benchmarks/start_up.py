"""Times what a user waits for: --help, the first step of a training, the first step of a resume.

Usage: python -m benchmarks.start_up --dataset=wn18rr [--output=FILE.json]

Whole commands, from their start on, in turns with a bare `python -c 'import tensorflow'`. A step is
done when the run has written its first figures (`metrics.jsonl`): data set read, graph stored,
model built, everything compiled. A run that is not counted prepares the data set beforehand.
"""

import itertools
import pathlib
import sys
import tempfile
from collections.abc import Callable, Sequence

from absl import flags

from benchmarks import measure, processes
from datasets.program import import_tensorflow, run_program
from trainers import setting_flags

_DATASET = flags.DEFINE_string("dataset", "wn18rr", "Name or folder, as for trainers.fit.")
_DATA = setting_flags.DataFlags()
flags.adopt_module_key_flags(setting_flags)
_RECIPE = flags.DEFINE_string("recipe", "paper", "Recipe of the training.")
_ROUNDS = flags.DEFINE_integer("rounds", 5, "Measurements; the median is reported.", 1)
_OUTPUT = flags.DEFINE_string("output", None, "JSON file to write.")
_LIMIT = "import tensorflow"


def main(argv: Sequence[str]) -> None:
    """Measures and prints."""
    del argv
    with tempfile.TemporaryDirectory() as folder:
        times = processes.medians(_timed(pathlib.Path(folder)), _ROUNDS.value)
    ratios = {name: value / times[_LIMIT] for name, value in times.items()}
    print(f"{_DATASET.value}, recipe {_RECIPE.value}")
    for name, value in times.items():
        print(f"{name:24s} {value:8.2f} s {ratios[name]:8.2f} x import tensorflow")
    command = measure.command("start_up", dataset=_DATASET.value, recipe=_RECIPE.value)
    record = {"benchmark": "start_up", "command": command, "seconds": times, "ratios": ratios}
    import_tensorflow()
    measure.write_json(_OUTPUT.value, record)


def _timed(folder: pathlib.Path) -> dict[str, Callable[[], float]]:
    python, fit = [sys.executable], [sys.executable, "-m", "trainers.fit"]
    given = [f"--{name}={value}" for name, value in _DATA.given().items() if value]
    train = [*fit, f"--dataset={_DATASET.value}", f"--recipe={_RECIPE.value}", *given]
    # A run of one step, done to its end, is there to be resumed. Each time it is ended before its
    # next checkpoint, so that all start from the same.
    kept = folder / "kept"
    processes.seconds([*train, f"--run_dir={kept}", "--epochs=1", "--steps_per_epoch=1"])
    resume = [*fit, f"--run_dir={kept}", "--resume", "--epochs=1000000"]
    numbers = itertools.count()

    def first_step() -> float:
        run_dir = folder / str(next(numbers))
        command = [*train, f"--run_dir={run_dir}"]
        return processes.seconds_until_grown(command, run_dir / "metrics.jsonl")

    return {
        "python -c pass": lambda: processes.seconds([*python, "-c", "pass"]),
        _LIMIT: lambda: processes.seconds([*python, "-c", "import tensorflow"]),
        "--help": lambda: processes.seconds([*fit, "--help"]),
        "first step": first_step,
        "first step of a resume": lambda: processes.seconds_until_grown(
            resume, kept / "metrics.jsonl"
        ),
    }


if __name__ == "__main__":
    run_program(main)
