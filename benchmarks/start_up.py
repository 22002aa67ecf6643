"""Times what users wait for: --help, the first step of a training, the first step of a resume.

Usage: python -m benchmarks.start_up --dataset=wn18rr [--output=FILE.json]

Whole commands are timed from their start, in turns with a bare `python -c 'import tensorflow'`. A
first step is done when the run has written its first figures (`metrics.jsonl`): data set read,
graph stored, model built, everything compiled. A run that is not timed prepares the data set.
"""

import itertools
import pathlib
import sys
import tempfile
from collections.abc import Callable

from absl import flags

from benchmarks import measure
from datasets.program import import_tensorflow, run_program

_DATASET = flags.DEFINE_string("dataset", "wn18rr", "Name or folder, as for `quatre fit`.")
_MANUAL_DIR = flags.DEFINE_string("manual_dir", None, "Folder with downloaded archives.")
_RECIPE = flags.DEFINE_string("recipe", "paper", "Recipe of the training.")
_ROUNDS = flags.DEFINE_integer("rounds", 5, "Measurements; the median is reported.", 1)
_LIMIT = "import tensorflow"


def main() -> None:
    """Measures and prints."""
    with tempfile.TemporaryDirectory() as folder:
        calls = _calls(pathlib.Path(folder))
        times = measure.interleaved(calls, rounds=_ROUNDS.value, timer=lambda call: call())
    ratios = {name: value / times[_LIMIT] for name, value in times.items()}
    print(f"{_DATASET.value}, recipe {_RECIPE.value}")
    for name, value in times.items():
        print(f"{name:24s} {value:8.2f} s {ratios[name]:8.2f} x import tensorflow")
    import_tensorflow()
    measure.write_result({"seconds": times, "ratios": ratios})


def _calls(folder: pathlib.Path) -> dict[str, Callable[[], float]]:
    """Returns calls that return their seconds."""
    fit = [sys.executable, "-m", "trainers.fit"]
    given = [f"--manual_dir={_MANUAL_DIR.value}"] if _MANUAL_DIR.value else []
    train = [*fit, f"--dataset={_DATASET.value}", f"--recipe={_RECIPE.value}", *given]
    # A finished run of one step, to be resumed. Each time it is killed before its next checkpoint,
    # so every resume starts from the same one.
    kept = folder / "kept"
    measure.run([*train, f"--run_dir={kept}", "--epochs=1", "--steps_per_epoch=1"])
    resume = [*fit, f"--run_dir={kept}", "--resume", "--epochs=1000000"]
    numbers = itertools.count()

    def first_step() -> float:
        run_dir = folder / str(next(numbers))
        return measure.run([*train, f"--run_dir={run_dir}"], run_dir / "metrics.jsonl")[0]

    return {
        _LIMIT: lambda: measure.run([sys.executable, "-c", "import tensorflow"])[0],
        "--help": lambda: measure.run([*fit, "--help"])[0],
        "first step": first_step,
        "first step of a resume": lambda: measure.run(resume, kept / "metrics.jsonl")[0],
    }


if __name__ == "__main__":
    run_program(main)
