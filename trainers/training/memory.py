"""Estimates the memory of a run before it starts, because TensorFlow aborts if memory runs out.

The factors of a step were measured, at sizes where it takes more than the tables.
"""

import dataclasses
import gc
import os
import pathlib
import resource
from collections.abc import Iterator
from typing import Any

import keras
import tensorflow as tf

from quatre_tf.data.graph import Graph
from quatre_tf.errors import ConfigError
from quatre_tf.model import table_sizes
from quatre_tf.ranking.counting import QUERY_TILE
from trainers.training.config import SETTINGS, TrainConfig
from trainers.training.trainer import outline

_GIGABYTE = 1e9
# Of compiled functions and the allocator's reserve.
_OVERHEAD = 0.3 * _GIGABYTE
# Of addresses, the threads' stacks and heaps take about this much, and the allocator maps twice
# what it holds.
_THREADS = 1.0 * _GIGABYTE
_MAPPED = 2.0
# Ranking holds its queries this often, counted in rows of a tile.
_QUERY_COPIES = 6
_CGROUP = pathlib.Path("/sys/fs/cgroup")


@dataclasses.dataclass(frozen=True)
class Estimate:
    """Bytes that training takes at its peak.

    Attributes:
        tables: The tables, and a copy of them while they are made, ranked or saved.
        accumulators: The optimizer's slots.
        step: What a training step or a tile of ranking holds at once, whichever is more.
    """

    tables: float
    accumulators: float
    step: float

    @property
    def total(self) -> float:
        """All of it."""
        return self.tables + self.accumulators + self.step + _OVERHEAD


def estimate(config: TrainConfig, graph: Graph) -> Estimate:
    """Returns what training takes.

    Raises:
        ConfigError: The model's own settings do not fit it.
    """
    sizes = table_sizes(outline(config, graph))
    width, floats = sizes[0] // graph.num_entities, 4.0 * sum(sizes)
    if config.recipe == "paper":
        batch = config.batch_size or len(graph.train) // 100
        # A row for each head, tail and negative, three times; and what drawing a negative takes.
        step = 13.0 * width * batch * (2 + config.num_negatives)
        step += 160.0 * batch * config.num_negatives
    else:
        batch = min(config.batch_size or 1000, 2 * len(graph.train))
        candidates = graph.num_entities
        # Dense gradients of the tables, or the rows of the sample and their gradients.
        rows = floats
        if config.recipe in SETTINGS["num_candidates"].recipes:
            candidates = min(config.num_candidates, graph.num_entities)
            rows = 4.0 * width * 2 * (candidates + batch)
        # Scores and their softmax; queries and their gradients.
        step = 4.0 * batch * (2 * candidates + 4 * width) + rows
    copies = config.num_replicas if config.strategy == "mirrored" else 1
    slots = {"adagrad": 1, "adam": 2}[config.optimizer]
    ranked = 4.0 * width * min(QUERY_TILE, len(graph.valid)) * _QUERY_COPIES
    return Estimate(floats * (copies + 1), floats * copies * slots, max(step, ranked))


def fits_in_memory(config: TrainConfig, graph: Graph) -> bool:
    """Returns whether training fits into what this process may use; True where that is unknown."""
    if config.strategy == "parameter_server" or tf.config.list_physical_devices("GPU"):
        return True
    return estimate(config, graph).total <= available()


def check_memory(config: TrainConfig, graph: Graph) -> None:
    """Expects that training fits into what this process may use.

    Raises:
        ConfigError: It does not; says what it takes, and the largest sizes that fit. Or the model's
            own settings do not fit it.
    """
    if fits_in_memory(config, graph):
        return
    free, needed = available(), estimate(config, graph)
    sizes = ["batch_size", "embedding_dim"]
    sizes[1:1] = ["num_candidates"] * (config.recipe in SETTINGS["num_candidates"].recipes)
    largest = {name: _largest(name, config, graph, free) for name in sizes}
    fitting = [f"--{name}={size}" for name, size in largest.items() if size]
    raise ConfigError(
        f"Training takes about {needed.total / _GIGABYTE:.1f} GB of memory, and this process may "
        f"use {free / _GIGABYTE:.1f} GB. Tables: {needed.tables / _GIGABYTE:.1f} GB, their "
        f"accumulators: {needed.accumulators / _GIGABYTE:.1f} GB, a step: "
        f"{needed.step / _GIGABYTE:.1f} GB. "
        + (f"At most {' or '.join(fitting)} fits." if fitting else "No size of the model fits.")
    )


def _largest(name: str, config: TrainConfig, graph: Graph, free: float) -> int:
    """Returns the largest value of a setting that fits, the others as they are; 0 for none.

    Where a model does not have all sizes, it may be less than the largest, but fits.
    """

    def fits(size: int) -> bool:
        changes: Any = {name: size}
        try:
            return estimate(dataclasses.replace(config, **changes), graph).total <= free
        except ConfigError:
            return False

    low, high = 0, getattr(config, name)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def available() -> float:
    """Returns the bytes that this process may still use: of the machine, its group and limits."""
    return min(_bounds(), default=float("inf"))


def _bounds() -> Iterator[float]:
    try:
        pages = pathlib.Path("/proc/self/statm").read_text().split()
        lines = pathlib.Path("/proc/meminfo").read_text().splitlines()
        groups = pathlib.Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:  # Not Linux.
        return
    mapped, resident = (float(count) * os.sysconf("SC_PAGE_SIZE") for count in pages[:2])
    facts = dict(line.split(":") for line in lines)
    yield 1024.0 * int(facts["MemAvailable"].split()[0])
    address_space, _ = resource.getrlimit(resource.RLIMIT_AS)
    if address_space != resource.RLIM_INFINITY:
        yield max(0.0, address_space - mapped - _THREADS) / _MAPPED
    for group in groups:
        _, controllers, name = group.split(":", 2)
        # Of version 2, then of version 1, where a container may see its own group as the root.
        for path in (f"{name}/memory.max", f"{controllers}/memory.limit_in_bytes"):
            file = _CGROUP / path.strip("/")
            if file.is_file() and (most := file.read_text().strip()) != "max":
                yield float(most) - resident


def free_memory() -> None:
    """Frees the last run's memory: models and compiled functions refer to each other in circles."""
    keras.utils.clear_session()
    gc.collect()
