"""What a training step sends through the network, counted from batches."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from quatre_tf.data.batches import Batches, Share
from quatre_tf.data.graph import Graph
from trainers.training.config import TrainConfig
from trainers.training.presets import resolve
from trainers.training.recipes import RECIPES

# Where a batch names entities whose rows are read; each reading is a row, duplicates too.
_ENTITIES = {
    "paper": ("heads", "tails", "corrupted"),
    "sampled": ("entities", "targets", "candidates"),
}


def count_bytes(
    graph: Graph, recipe: str, workers: Sequence[int], num_batches: int
) -> Iterator[dict[str, Any]]:
    """Yields the mean bytes of a step with the preset of a data set, for each number of workers.

    Returns:
        `{"recipe", "workers", "exchanged", "read", "written"}`: what a worker sends to the others,
        and what it would read from and write to parameter servers.
    """
    config = resolve(graph.name, recipe, {})
    batches = RECIPES[recipe](config, graph, max(workers)).batches()
    for count in workers:
        counted = [count_batch(batches, step, config, count) for step in range(num_batches)]
        exchanged, read, written = np.mean(counted, axis=0).tolist()
        yield {
            "recipe": recipe,
            "workers": count,
            "exchanged": exchanged,
            "read": read,
            "written": written,
        }


def count_batch(
    batches: Batches, step: int, config: TrainConfig, workers: int
) -> tuple[int, int, int]:
    """Returns the bytes exchanged, read and written of one batch; the entity table's alone."""
    share = Share(workers, 0, workers)
    parts = list(batches.dataset(step, share).take(workers).as_numpy_iterator())
    ids = [np.concatenate([part[k].ravel() for k in _ENTITIES[config.recipe]]) for part in parts]
    row = 16 * config.embedding_dim
    # The gather of sparse gradients wants one length: the others are padded to the longest.
    distinct = max(len(np.unique(part)) for part in ids)
    return (workers - 1) * distinct * (row + 4), len(ids[0]) * row, distinct * (row + 4)
