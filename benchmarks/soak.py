"""Trains, ranks, saves, exports and predicts in a loop, and watches the resources of the process.

Usage: python -m benchmarks.soak --minutes=60 [--output=FILE.json]

One process keeps a training of each recipe, like a service that learns continuously. A round
continues one of them: some steps, a ranking of the validation split, a checkpoint, and an export,
which is loaded and queried. With --fresh each round starts a new training instead and runs it to
its test figures. After each round the garbage is collected and memory, threads and open files are
counted (`benchmarks.resource_usage`). Growth is the slope of a line through the memory of the
second half of the rounds; the first half fills caches.
"""

import contextlib
import io
import pathlib
import tempfile
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from absl import flags

from benchmarks import measure
from benchmarks.resource_usage import resource_usage
from datasets.program import import_tensorflow, run_program
from trainers.training import presets
from trainers.training.config import CHOICES

_SIZES = {"embedding_dim": 32}
_LINE = (
    "{round:6d} {seconds:8.0f} s {megabytes:8.1f} MB ({allocated:.1f} allocated) "
    "{threads:4d} threads {files:4d} files"
)


def define_flags() -> None:
    """Defines the flags; importing the module does not, so tests may import many programs."""
    flags.DEFINE_string("dataset", "countries", "Name or folder, as for trainers.fit.")
    flags.DEFINE_string("manual_dir", None, "Folder with archives already at hand.")
    flags.DEFINE_integer("steps", 50, "Steps of a round.", 1)
    flags.DEFINE_bool("fresh", False, "Start a new training in each round.")
    flags.DEFINE_float("minutes", 60.0, "Duration.", 0.0)
    flags.DEFINE_string("output", None, "JSON file to write.")


def main(argv: Sequence[str]) -> None:
    """Prints a line for each round, and the growth at the end."""
    del argv
    import_tensorflow()
    do_round = _fresh_run if flags.FLAGS.fresh else _Service().do_round
    started = time.monotonic()
    rows: list[dict[str, Any]] = []
    while not rows or time.monotonic() - started < 60 * flags.FLAGS.minutes:
        recipe = CHOICES["recipe"][len(rows) % len(CHOICES["recipe"])]
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            do_round(recipe, pathlib.Path(folder))
        seconds = time.monotonic() - started
        rows.append({"round": len(rows) + 1, "seconds": seconds, **resource_usage()})
        print(_LINE.format(**rows[-1]), flush=True)
    found = growth(rows)
    print(
        f"Second half: {found['megabytes_per_hour']:+.1f} MB an hour "
        f"({found['kilobytes_per_round']:+.1f} kB a round; allocated "
        f"{found['allocated_kilobytes_per_round']:+.1f} kB), {found['threads']:+d} threads, "
        f"{found['files']:+d} files."
    )
    minutes, fresh = f"{flags.FLAGS.minutes:g}", flags.FLAGS.fresh or None
    command = measure.command("soak", dataset=flags.FLAGS.dataset, minutes=minutes, fresh=fresh)
    record = {"benchmark": "soak", "command": command, "growth": found, "rows": rows}
    measure.write_json(flags.FLAGS.output, record)


def growth(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Returns how the resources grew in the second half of the rounds.

    Args:
        rows: `resource_usage` of each round, and the seconds since the start.

    Returns:
        The slopes of least-squares lines through the memory: resident by hour and by round,
        allocated by round; 0 for fewer than two rounds. Threads and files: last round minus first.
    """
    half = rows[len(rows) // 2 :]

    def slope(x: Sequence[float], name: str) -> float:
        return float(np.polyfit(x, [row[name] for row in half], 1)[0]) if half[1:] else 0.0

    return {
        "megabytes_per_hour": 3600 * slope([row["seconds"] for row in half], "megabytes"),
        "kilobytes_per_round": 1e3 * slope(range(len(half)), "megabytes"),
        "allocated_kilobytes_per_round": 1e3 * slope(range(len(half)), "allocated"),
        **{name: half[-1][name] - half[0][name] for name in ("threads", "files")},
    }


class _Service:
    """Trainings that continue, one of each recipe."""

    def __init__(self) -> None:
        import tensorflow as tf

        from datasets import catalog
        from quatre_tf.ranking.evaluator import Evaluator
        from trainers.training.trainer import Trainer

        self._graph = catalog.load(flags.FLAGS.dataset, manual_dir=flags.FLAGS.manual_dir)
        self._evaluators, self._trainers = {}, {}
        for recipe in CHOICES["recipe"]:
            config = presets.resolve(flags.FLAGS.dataset, recipe, _SIZES)
            self._evaluators[recipe] = Evaluator(self._graph)
            self._trainers[recipe] = Trainer(config, self._graph, tf.distribute.get_strategy())

    def do_round(self, recipe: str, folder: pathlib.Path) -> None:
        from saved_models.exporting import export_scorer
        from saved_models.scorer import build_scorer
        from trainers.training.checkpoints import Checkpoints, RunState

        trainer = self._trainers[recipe]
        trainer.train(flags.FLAGS.steps)
        self._evaluators[recipe].rank(trainer.model, "valid")
        (folder / "checkpoints").mkdir()
        Checkpoints(folder / "checkpoints", trainer, RunState()).save()
        _predict(export_scorer(build_scorer(trainer.model, self._graph), folder), self._graph)


def _fresh_run(recipe: str, folder: pathlib.Path) -> None:
    from quatre_tf.data.graph import Graph
    from trainers.training.fitting import fit

    settings = {**_SIZES, "epochs": 1, "validate_every": 1, "steps_per_epoch": flags.FLAGS.steps}
    config = presets.resolve(flags.FLAGS.dataset, recipe, settings)
    fit(config, folder / "run", manual_dir=flags.FLAGS.manual_dir)
    _predict(folder / "run" / "saved_model" / "1", Graph.load(folder / "run" / "graph"))


def _predict(version: pathlib.Path, graph: Any) -> None:
    import tensorflow as tf

    query = tf.constant([graph.entities.names[0]]), tf.constant([graph.relations.names[0]])
    served = tf.saved_model.load(str(version))
    served.predict_tails(*query, top_k=tf.constant(5), filtered=tf.constant(True))


if __name__ == "__main__":
    define_flags()
    run_program(main)
