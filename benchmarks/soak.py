"""Trains, ranks, saves, exports and asks in a loop, and watches what the process holds on to.

Usage: python -m benchmarks.soak --minutes=60 [--output=FILE.json] [--picture=FILE.png]

One process keeps a training of each recipe, as a service does that learns all the time. A round
goes on with one of them: some steps, the validation split ranked, a checkpoint, an export with the
next version, which is loaded and asked. With --fresh each round begins a training of its own,
from its settings to its test figures. After each round the garbage is collected, and memory,
threads and open files are counted (`benchmarks.holdings`). Growth is the slope of a line through
the memory of the second half of the rounds; the first half fills caches.
"""

import contextlib
import io
import pathlib
import tempfile
import time
from collections.abc import Sequence
from typing import Any

from absl import flags

from benchmarks import measure
from benchmarks.holdings import growth, holdings
from datasets.program import import_tensorflow, run_program
from trainers.training import presets

_DATASET = flags.DEFINE_string("dataset", "countries", "Name or folder, as for trainers.fit.")
_MANUAL_DIR = flags.DEFINE_string("manual_dir", None, "Folder with archives already at hand.")
_STEPS = flags.DEFINE_integer("steps", 50, "Steps of a round.", 1)
_FRESH = flags.DEFINE_bool("fresh", False, "Begin a training in each round.")
_MINUTES = flags.DEFINE_float("minutes", 60.0, "How long.", 0.0)
_OUTPUT = flags.DEFINE_string("output", None, "JSON file to write.")
_PICTURE = flags.DEFINE_string("picture", None, "PNG file to draw (extra `analysis`).")

_RECIPES = ("paper", "strong", "sampled")
_SIZES = {"embedding_dim": 32}
_LINE = (
    "{round:6d} {seconds:8.0f} s {megabytes:8.1f} MB ({allocated:.1f} allocated) "
    "{threads:4d} threads {files:4d} files"
)


def main(argv: Sequence[str]) -> None:
    """Soaks, prints a line for each round, and the growth at the end."""
    del argv
    import_tensorflow()
    go_on = _fresh_run if _FRESH.value else _Service().go_on
    started = time.monotonic()
    rows: list[dict[str, Any]] = []
    while not rows or time.monotonic() - started < 60 * _MINUTES.value:
        recipe = _RECIPES[len(rows) % len(_RECIPES)]
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            go_on(recipe, pathlib.Path(folder))
        rows.append({"round": len(rows) + 1, "seconds": time.monotonic() - started, **holdings()})
        print(_LINE.format(**rows[-1]), flush=True)
    found = growth(rows)
    print(
        f"Second half: {found['megabytes_per_hour']:+.1f} MB an hour "
        f"({found['kilobytes_per_round']:+.1f} kB a round, of what is allocated "
        f"{found['allocated_kilobytes_per_round']:+.1f} kB), {found['threads']:+d} threads, "
        f"{found['files']:+d} files."
    )
    command = measure.command(
        "soak",
        dataset=_DATASET.value,
        minutes=f"{_MINUTES.value:g}",
        fresh=_FRESH.value or None,
    )
    record = {"benchmark": "soak", "command": command, "growth": found, "rows": rows}
    measure.write_json(_OUTPUT.value, record)
    if _PICTURE.value:
        _draw(rows, pathlib.Path(_PICTURE.value))


class _Service:
    """Trainings that go on, one of each recipe."""

    def __init__(self) -> None:
        from datasets import catalog
        from quatre_tf.ranking.evaluator import Evaluator

        self._graph = catalog.load(_DATASET.value, manual_dir=_MANUAL_DIR.value)
        self._evaluators = {recipe: Evaluator(self._graph) for recipe in _RECIPES}
        self._trainers = {recipe: self._trainer(recipe) for recipe in _RECIPES}

    def go_on(self, recipe: str, folder: pathlib.Path) -> None:
        """Learns some more, and brings it to those who ask."""
        from saved_models.exporting import export_scorer
        from saved_models.scorer import build_scorer
        from trainers.training.checkpoints import Checkpoints, RunState

        trainer = self._trainers[recipe]
        trainer.train(_STEPS.value)
        self._evaluators[recipe].rank(trainer.model, "valid")
        (folder / "checkpoints").mkdir()
        Checkpoints(folder / "checkpoints", trainer, RunState()).save()
        _ask(export_scorer(build_scorer(trainer.model, self._graph, None), folder), self._graph)

    def _trainer(self, recipe: str) -> Any:
        import tensorflow as tf

        from trainers.training.trainer import Trainer

        strategy = tf.distribute.get_strategy()
        return Trainer(presets.resolve(_DATASET.value, recipe, _SIZES), self._graph, strategy)


def _fresh_run(recipe: str, folder: pathlib.Path) -> None:
    from quatre_tf.data.graph import Graph
    from trainers.training.fitting import fit

    settings = {**_SIZES, "epochs": 1, "validate_every": 1, "steps_per_epoch": _STEPS.value}
    config = presets.resolve(_DATASET.value, recipe, settings)
    fit(config, folder / "run", manual_dir=_MANUAL_DIR.value)
    _ask(folder / "run" / "saved_model" / "1", Graph.load(folder / "run" / "graph"))


def _ask(version: pathlib.Path, graph: Any) -> None:
    import tensorflow as tf

    question = tf.constant([graph.entities.names[0]]), tf.constant([graph.relations.names[0]])
    served = tf.saved_model.load(str(version))
    served.predict_tails(*question, top_k=tf.constant(5), filtered=tf.constant(True))


def _draw(rows: Sequence[dict[str, Any]], path: pathlib.Path) -> None:
    from trainers.reporting.analysis import style

    minutes = [row["seconds"] / 60 for row in rows]
    with style.picture(path, height=2.2, columns=2) as (_figure, grid):
        memory, counts = grid[0]
        memory.set_title("Memory (MB)")
        counts.set_title("Held by the process")
        columns = {memory: {"resident": "megabytes", "allocated": "allocated"}}
        columns[counts] = {"threads": "threads", "files": "files"}
        for axis, lines in columns.items():
            for colour, (label, name) in zip(style.PALETTE, lines.items(), strict=False):
                axis.plot(minutes, [row[name] for row in rows], color=colour, label=label)
            axis.set_ylim(bottom=0)
            axis.set_xlabel("Minutes")
            axis.grid(True)
            axis.legend(frameon=False)


if __name__ == "__main__":
    run_program(main)
