"""Counts what a training step sends through the network, from batches of a benchmark.

    python -m benchmarks.distributed --dataset=wn18rr

Nothing is trained: the batches of a recipe are cut into parts as the workers would, and the rows
that occur in them are counted. docs/distributed.md says what is sent when.
"""

from collections.abc import Sequence

from absl import flags

from benchmarks import measure
from datasets import catalog
from datasets.program import import_tensorflow, run_program

_DATASET = flags.DEFINE_string("dataset", "wn18rr", "Data set whose batches to count.")
_MANUAL_DIR = flags.DEFINE_string("manual_dir", None, "Folder with archives already at hand.")
_BATCHES = flags.DEFINE_integer("batches", 5, "Batches to take the mean of.")
_OUTPUT = flags.DEFINE_string("output", None, "JSON file to write.")

_RECIPES = ("paper", "sampled")
_WORKERS = (1, 2, 4, 8)
_GIGABITS = (1, 10, 100)


def main(argv: Sequence[str]) -> None:
    """Counts and prints."""
    del argv
    import_tensorflow()
    graph = catalog.load(_DATASET.value, manual_dir=_MANUAL_DIR.value)
    from benchmarks.step_bytes import count_bytes

    rows = [row for r in _RECIPES for row in count_bytes(graph, r, _WORKERS, _BATCHES.value)]
    print(f"{'recipe':8s} workers  {'sent by each':>12s}  " + "  ".join(map(_speed, _GIGABITS)))
    for row in rows:
        times = "  ".join(f"{8e-6 * row['exchanged'] / g:8.1f} ms" for g in _GIGABITS)
        print(f"{row['recipe']:8s} {row['workers']:7d}  {row['exchanged'] / 1e6:9.1f} MB  {times}")
    for row in rows[:: len(_WORKERS)]:
        read, written = row["read"] / 1e6, row["written"] / 1e6
        print(f"{row['recipe']:8s} from servers {read:.1f} MB, to servers {written:.1f} MB")
    command = measure.command("distributed", dataset=_DATASET.value)
    measure.write_json(
        _OUTPUT.value, {"benchmark": "distributed", "command": command, "rows": rows}
    )


def _speed(gigabits: int) -> str:
    return f"{gigabits:3d} Gbit/s "


if __name__ == "__main__":
    run_program(main)
