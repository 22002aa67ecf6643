"""Counts the bytes that a training step sends through the network.

Usage: python -m benchmarks.distributed --dataset=wn18rr [--output=FILE.json]

Batches are cut into parts as the workers would cut them, and the entity rows that occur in them are
counted. docs/distributed.md says what is sent when.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from absl import flags

from benchmarks import measure
from datasets import catalog
from datasets.program import import_tensorflow, run_program
from datasets.text_table import table
from quatre_tf.data.batches import Batches, Share
from quatre_tf.data.graph import Graph
from trainers.training.config import TrainConfig
from trainers.training.presets import resolve

_WORKERS = (1, 2, 4, 8)
_GIGABITS = (1, 10, 100)
# Parts of a batch whose entity rows are read; every occurrence is a row.
_ENTITIES = {
    "paper": ("heads", "tails", "corrupted"),
    "sampled": ("entities", "targets", "candidates"),
}


def define_flags() -> None:
    """Defines the flags; importing the module does not, for `clusters` has some of them."""
    flags.DEFINE_string("dataset", "wn18rr", "Data set whose batches to count.")
    flags.DEFINE_string("manual_dir", None, "Folder with downloaded archives.")
    flags.DEFINE_integer("batches", 5, "Batches; the mean is reported.", 1)


def main() -> None:
    """Counts and prints."""
    given = flags.FLAGS
    import_tensorflow()
    graph = catalog.load(given.dataset, manual_dir=given.manual_dir)
    rows = [row for recipe in _ENTITIES for row in count_bytes(graph, recipe, given.batches)]
    header = ["recipe", "workers", "sent by each", *(f"{g} Gbit/s" for g in _GIGABITS)]
    print(table([header, *map(_cells, rows)]))
    for row in rows:
        if row["workers"] == 1:
            read, written = 1e-6 * row["read"], 1e-6 * row["written"]
            print(f"{row['recipe']}: from servers {read:.1f} MB, to servers {written:.1f} MB")
    measure.write_result({"rows": rows})


def _cells(row: dict[str, Any]) -> list[str]:
    times = [f"{8e-6 * row['exchanged'] / gigabits:,.1f} ms" for gigabits in _GIGABITS]
    sent = f"{1e-6 * row['exchanged']:.1f} MB"
    return [row["recipe"], str(row["workers"]), sent, *times]


def count_bytes(graph: Graph, recipe: str, num_batches: int) -> Iterator[dict[str, Any]]:
    """Yields the mean bytes of a step with the preset of a data set, per number of workers.

    Returns:
        `{"recipe", "workers", "exchanged", "read", "written"}`: what a worker sends to the others,
        and what it would read from and write to parameter servers.
    """
    from trainers.training.recipes import RECIPES

    config = resolve(graph.name, recipe, {})
    batches = RECIPES[recipe](config, graph, max(_WORKERS)).batches()
    for workers in _WORKERS:
        counted = [count_batch(batches, step, config, workers) for step in range(num_batches)]
        means = np.mean(counted, axis=0).tolist()
        counts = dict(zip(("exchanged", "read", "written"), means, strict=True))
        yield {"recipe": recipe, "workers": workers, **counts}


def count_batch(
    batches: Batches, step: int, config: TrainConfig, workers: int
) -> tuple[int, int, int]:
    """Returns the bytes exchanged, read and written for a batch; entity table only."""
    parts = batches.dataset(step, Share(workers, 0, workers)).take(workers).as_numpy_iterator()
    names = _ENTITIES[config.recipe]
    ids = [np.concatenate([part[name].ravel() for name in names]) for part in parts]
    row = 16 * config.embedding_dim
    # Gathered sparse gradients have one length: the shorter ones are padded.
    distinct = max(len(np.unique(part)) for part in ids)
    return (workers - 1) * distinct * (row + 4), len(ids[0]) * row, distinct * (row + 4)


if __name__ == "__main__":
    define_flags()
    run_program(main)
