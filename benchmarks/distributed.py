"""Measures what sharing a training out costs, and counts what a step sends through the network.

    python -m benchmarks.distributed --dataset=wn18rr

First the same short training runs in one process and as clusters on the loopback of this machine:
1 and 2 workers, 1, 2 and 4 parameter servers. Mean loss and test MRR have to stay; a step takes
longer by what the strategy costs, for the cores are the same. Then the batches of the recipes are
cut into parts as the workers would, and the rows that occur in them counted. docs/distributed.md
says what is sent when. --steps=0 only counts.
"""

import pathlib
import tempfile
from collections.abc import Sequence
from typing import Any

from absl import flags

from benchmarks import measure
from benchmarks.cluster_runs import SETUPS, fit_command, measure_setup
from datasets import catalog
from datasets.program import import_tensorflow, run_program
from quatre_tf.data.graph import Graph

_DATASET = flags.DEFINE_string("dataset", "wn18rr", "Data set whose batches to count.")
_MANUAL_DIR = flags.DEFINE_string("manual_dir", None, "Folder with archives already at hand.")
_STEPS = flags.DEFINE_integer("steps", 60, "Steps of each training; 0: no trainings.", 0)
_BATCHES = flags.DEFINE_integer("batches", 5, "Batches to take the mean of.")
_OUTPUT = flags.DEFINE_string("output", None, "JSON file to write.")

_RECIPES = ("paper", "sampled")
_WORKERS = (1, 2, 4, 8)
_GIGABITS = (1, 10, 100)


def main(argv: Sequence[str]) -> None:
    """Measures, counts and prints."""
    del argv
    runs = [row for r in _RECIPES for row in _runs(r)] if _STEPS.value else []
    import_tensorflow()
    rows = _counts(catalog.load(_DATASET.value, manual_dir=_MANUAL_DIR.value))
    command = measure.command("distributed", dataset=_DATASET.value, steps=_STEPS.value)
    measure.write_json(
        _OUTPUT.value, {"benchmark": "distributed", "command": command, "runs": runs, "rows": rows}
    )


def _runs(recipe: str) -> list[dict[str, Any]]:
    given = [f"--manual_dir={_MANUAL_DIR.value}"] if _MANUAL_DIR.value else []
    rows: list[dict[str, Any]] = []
    print(
        f"{'recipe':8s} {'on this machine':30s} a step  / default  loopback a step   loss      MRR"
    )
    for number, setup in enumerate(SETUPS):
        fit = fit_command(_DATASET.value, recipe, _STEPS.value, given)
        with tempfile.TemporaryDirectory() as folder:
            row = measure_setup(setup, fit, pathlib.Path(folder) / str(number))
        rows.append({"recipe": recipe, **row})
        ratio = row["milliseconds"] / rows[0]["milliseconds"]
        print(
            f"{recipe:8s} {setup.name:30s} {row['milliseconds']:5.0f} ms {ratio:6.2f} "
            f"{row['loopback_bytes'] / 1e6:13.1f} MB  {row['loss']:9.6f}  {row['test_mrr']:.6f}",
            flush=True,
        )
    return rows


def _counts(graph: Graph) -> list[dict[str, Any]]:
    from benchmarks.step_bytes import count_bytes

    rows = [row for r in _RECIPES for row in count_bytes(graph, r, _WORKERS, _BATCHES.value)]
    print(f"{'recipe':8s} workers  {'sent by each':>12s}  " + "  ".join(map(_speed, _GIGABITS)))
    for row in rows:
        times = "  ".join(f"{8e-6 * row['exchanged'] / g:8.1f} ms" for g in _GIGABITS)
        print(f"{row['recipe']:8s} {row['workers']:7d}  {row['exchanged'] / 1e6:9.1f} MB  {times}")
    for row in rows[:: len(_WORKERS)]:
        read, written = row["read"] / 1e6, row["written"] / 1e6
        print(f"{row['recipe']:8s} from servers {read:.1f} MB, to servers {written:.1f} MB")
    return rows


def _speed(gigabits: int) -> str:
    return f"{gigabits:3d} Gbit/s "


if __name__ == "__main__":
    run_program(main)
