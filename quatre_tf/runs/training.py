"""Training a run from Python, with the recipes of `quatre fit`."""

import csv
import numbers
import os
import pathlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from quatre_tf.errors import ConfigError, DataError
from quatre_tf.paths import user_path
from quatre_tf.runs.programs import run_program
from quatre_tf.runs.run import Run, load_run

_TRIPLES = "triples.csv"


def train(
    data: Any,
    *,
    model: str | None = None,
    recipe: str | None = None,
    budget_minutes: float | None = None,
    run_dir: str | os.PathLike | None = None,
    log: Callable[[str], Any] | None = print,
    **settings: Any,
) -> Run:
    """Trains a model, ranks the test split and returns the run, as `quatre fit` does.

    The training is a process of its own. Ctrl-C, or stopping the cell of a notebook, saves a
    checkpoint; `quatre fit --run_dir=DIR --resume` continues from it.

    Example:
        run = quatre_tf.train([("Ann", "knows", "Bob"), ...], budget_minutes=2)
        run.predict("Ann", "knows")

    Args:
        data: Triples `[n, 3]` of names (head, relation, tail), strings or integers, which are
            split; or what `quatre fit --dataset` takes: the name of a benchmark, a file or a
            folder. A `pathlib.Path` is always a file or folder.
        model: Score function; None: `"quatre"`.
        recipe: `"paper"`, `"strong"`, `"sampled"` or `"self_adversarial"`; None: `"paper"` for
            the paper's benchmarks; for data without a preset it is chosen by short runs, as
            `quatre fit --auto` does.
        budget_minutes: Wall time of the training; None: the recipe's number of epochs, or 5
            minutes where settings are chosen.
        run_dir: Folder of the run, which keeps the triples; None: `runs/NAME-TIME`.
        log: Called with each line of progress; None: no progress is shown.
        **settings: Other settings of `quatre fit`, such as `embedding_dim=64` or `seed=2`.

    Raises:
        ConfigError: The folder already has a run.
        DataError: The data or a setting is refused.
    """
    is_named = isinstance(data, str | os.PathLike)
    if run_dir is None:
        name = pathlib.Path(data).stem if is_named else "triples"
        run_dir = f"runs/{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    folder = user_path(run_dir)
    dataset: str | pathlib.Path
    if isinstance(data, str):
        dataset = data
    elif is_named:
        # A path that is called like a benchmark is no benchmark.
        dataset = user_path(data).absolute()
    else:
        dataset = _write_triples(data, folder)
    flags = {"dataset": dataset, "run_dir": folder, "model": model, "recipe": recipe}
    run_program("fit", {**flags, "budget_minutes": budget_minutes, **settings}, log)
    return load_run(folder)


def _write_triples(triples: Any, folder: pathlib.Path) -> pathlib.Path:
    """Writes triples to a folder without a run; returns the file."""
    names = np.asarray(triples, object)
    if names.ndim != 2 or names.shape[1] != 3 or not len(names):
        raise DataError(
            "Expected triples [n, 3] of names (head, relation, tail), or the name or path of a "
            f"data set. Received: an array of shape {list(names.shape)}."
        )
    for row, triple in enumerate(names.tolist()):
        # pandas has NaN for missing cells, and turns whole numbers beside them into floats.
        if not all(isinstance(name, str | numbers.Integral) for name in triple):
            raise DataError(
                f"Expected names that are strings or integers. Received in row {row}: "
                f"{tuple(triple)}. Drop rows with missing cells, and turn other names into strings."
            )
    if (folder / "config.json").exists():
        raise ConfigError(f"{folder} already holds a run. Choose another `run_dir`.")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / _TRIPLES
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("head", "relation", "tail"), *names.tolist()])
    return path
