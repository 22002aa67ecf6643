"""Trains, evaluates, exports and asks in a loop, and watches what the process holds on to.

Usage: python -m benchmarks.soak --minutes=60 [--output=FILE.json] [--picture=FILE.png]

Each round is a whole run in a folder of its own, all in this process, the recipes in turns: what a
round leaves behind, a service that trains again and again would collect. After each round the
garbage is collected, and resident memory, threads and open files are counted. Growth is the slope
of a line through the memory of the second half of the rounds; the first half fills caches.
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
from trainers import config as configs

_DATASET = flags.DEFINE_string("dataset", "countries", "Name or folder, as for trainers.fit.")
_MANUAL_DIR = flags.DEFINE_string("manual_dir", None, "Folder with archives already at hand.")
_EPOCHS = flags.DEFINE_integer("epochs", 4, "Epochs of a round.", 1)
_MINUTES = flags.DEFINE_float("minutes", 60.0, "How long.", 0.0)
_OUTPUT = flags.DEFINE_string("output", None, "JSON file to write.")
_PICTURE = flags.DEFINE_string("picture", None, "PNG file to draw (extra `analysis`).")

_RECIPES = ("paper", "strong", "sampled")
_LINE = "{round:6d} {seconds:8.0f} s {megabytes:8.1f} MB {threads:4d} threads {files:4d} files"


def main(argv: Sequence[str]) -> None:
    """Soaks, prints a line for each round, and the growth at the end."""
    del argv
    import_tensorflow()
    started = time.monotonic()
    rows: list[dict[str, Any]] = []
    while not rows or time.monotonic() - started < 60 * _MINUTES.value:
        _round(_RECIPES[len(rows) % len(_RECIPES)])
        rows.append({"round": len(rows) + 1, "seconds": time.monotonic() - started, **holdings()})
        print(_LINE.format(**rows[-1]), flush=True)
    found = growth(rows)
    print(
        f"Second half: {found['megabytes_per_hour']:+.1f} MB an hour "
        f"({found['kilobytes_per_round']:+.1f} kB a round), {found['threads']:+d} threads, "
        f"{found['files']:+d} files."
    )
    command = measure.command(
        "soak", dataset=_DATASET.value, epochs=_EPOCHS.value, minutes=f"{_MINUTES.value:g}"
    )
    record = {"benchmark": "soak", "command": command, "growth": found, "rows": rows}
    measure.write_json(_OUTPUT.value, record)
    if _PICTURE.value:
        _draw(rows, pathlib.Path(_PICTURE.value))


def _round(recipe: str) -> None:
    import tensorflow as tf

    from datasets.graph import Graph
    from trainers.fitting import fit

    settings = {"epochs": _EPOCHS.value, "validate_every": 2, "embedding_dim": 32}
    config = configs.resolve(_DATASET.value, recipe, settings)
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        run_dir = pathlib.Path(folder) / "run"
        fit(config, run_dir, manual_dir=_MANUAL_DIR.value)
        graph = Graph.load(run_dir / "graph")
        question = tf.constant([graph.entities.names[0]]), tf.constant([graph.relations.names[0]])
        served = tf.saved_model.load(str(run_dir / "saved_model" / "1"))
        served.predict_tails(*question, top_k=tf.constant(5), filtered=tf.constant(True))


def _draw(rows: Sequence[dict[str, Any]], path: pathlib.Path) -> None:
    from trainers.analysis import style

    minutes = [row["seconds"] / 60 for row in rows]
    with style.picture(path, height=2.2, columns=2) as (_figure, grid):
        memory, counts = grid[0]
        memory.plot(minutes, [row["megabytes"] for row in rows], color=style.PALETTE[0])
        memory.set_title("Resident memory (MB)")
        memory.set_ylim(bottom=0)
        for colour, name in zip(style.PALETTE, ("threads", "files"), strict=False):
            counts.plot(minutes, [row[name] for row in rows], color=colour, label=name)
        counts.set_title("Held by the process")
        counts.set_ylim(bottom=0)
        counts.legend(frameon=False)
        for axis in (memory, counts):
            axis.set_xlabel("Minutes")
            axis.grid(True)


if __name__ == "__main__":
    run_program(main)
