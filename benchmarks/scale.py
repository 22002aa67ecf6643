"""Measures how time and memory grow with the entities, on synthetic graphs.

Usage: python -m benchmarks.scale --entities=10000,1000000 [--output=FILE.json]

Each size has a process of its own, so that its peak of memory is its own. In it the graph is read
from text, stored and loaded, the model built and trained for some steps, and a tile of the test
split ranked on both sides. The step stands beside that of a graph of 40,000 entities, in turns; the
evaluation beside its matrix products.
"""

import concurrent.futures
import multiprocessing
import pathlib
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

from absl import flags

from benchmarks import measure
from benchmarks.scale_phases import measure_size
from benchmarks.synthetic_graph import write_graph
from datasets.program import import_tensorflow, run_program
from datasets.text_table import table

_ENTITIES = flags.DEFINE_list(
    "entities", "10000,40000,200000,1000000,5000000", "Numbers of entities."
)
# The recipes whose step does not grow with the entities.
_RECIPE = flags.DEFINE_enum("recipe", "sampled", ("paper", "sampled"), "Recipe of the training.")
_EMBEDDING_DIM = flags.DEFINE_integer("embedding_dim", 32, "Quaternions per embedding.", 1)
_ROUNDS = flags.DEFINE_integer("rounds", 7, "Measurements; the median is reported.", 1)
_OUTPUT = flags.DEFINE_string("output", None, "JSON file to write, after every size.")
_REFERENCE_ENTITIES = 40_000
# Positives or queries, the same at every size.
_BATCH_SIZE = 1_000
_GIB = 2**30
_COLUMNS = (
    "entities",
    "read",
    "load",
    "model",
    "step",
    "/ reference",
    "eval tile",
    "/ products",
    "peak",
    "/ tables",
)


def main(argv: Sequence[str]) -> None:
    """Measures and prints."""
    del argv
    settings = {"embedding_dim": _EMBEDDING_DIM.value, "batch_size": _BATCH_SIZE}
    record: dict[str, Any] = {
        "benchmark": "scale",
        "command": measure.command(
            "scale",
            entities=",".join(_ENTITIES.value),
            recipe=_RECIPE.value,
            embedding_dim=_EMBEDDING_DIM.value,
        ),
        "settings": settings,
        "sizes": [],
    }
    import_tensorflow()
    with tempfile.TemporaryDirectory() as name:
        reference = pathlib.Path(name) / "reference"
        _in_process(write_graph, reference, _REFERENCE_ENTITIES)
        for num_entities in map(int, _ENTITIES.value):
            with tempfile.TemporaryDirectory() as size_name:
                folder = pathlib.Path(size_name)
                _in_process(write_graph, folder, num_entities)
                size = _in_process(
                    measure_size, folder, reference, _RECIPE.value, settings, _ROUNDS.value
                )
            record["sizes"].append(size)
            measure.write_json(_OUTPUT.value, record)
            print(f"{num_entities:,} entities: measured", flush=True)
    print(table([_COLUMNS, *map(_row, record["sizes"])]))


def _in_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """Calls a function in a fresh process, not a copy of this one."""
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as process:
        return process.submit(function, *arguments).result()


def _row(size: dict[str, Any]) -> list[str]:
    seconds, times, ratios = size["seconds"], size["milliseconds"], size["ratios"]
    return [
        f"{size['entities']:,}",
        f"{seconds['read text']:.1f} s",
        f"{seconds['load graph']:.1f} s",
        f"{seconds['build model']:.1f} s",
        f"{times['step']:.1f} ms",
        f"{ratios['step / reference']:.2f}",
        f"{times['evaluation tile']:.0f} ms",
        f"{ratios['evaluation / products']:.2f}",
        f"{size['peak_bytes']['evaluate'] / _GIB:.2f} GiB",
        f"{ratios['peak / tables']:.2f}",
    ]


if __name__ == "__main__":
    run_program(main)
