"""The folder of a run: what lies where, and that only one run writes to it."""

import contextlib
import json
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

import filelock

from datasets.graph import Graph
from saved_models.trained import GRAPH
from trainers.config import TrainConfig
from trainers.errors import ConfigError


class RunDirectory:
    """Paths and small files of a run.

    config.json, metrics.jsonl, graph/, checkpoints/ (the last), best/ (the model that validated
    best), tensorboard/, saved_model/<version>/, report/, test_metrics.json.
    """

    def __init__(self, path: pathlib.Path):
        self.path = path
        self.config_file = path / "config.json"
        self.metrics_file = path / "metrics.jsonl"
        self.test_metrics_file = path / "test_metrics.json"
        self.checkpoints = path / "checkpoints"
        self.tensorboard = path / "tensorboard"
        self.saved_model = path / "saved_model"
        self.graph = path / GRAPH

    @property
    def has_run(self) -> bool:
        """Whether a run was begun here."""
        return self.config_file.exists()

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Holds the folder for this process.

        Raises:
            ConfigError: Another process trains in it.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(self.path / ".lock")
        try:
            lock.acquire(timeout=0)
        except filelock.Timeout as error:
            raise ConfigError(
                f"Another process is training in {self.path}. Wait for it, or choose another "
                "--run_dir."
            ) from error
        with lock:
            yield

    def begin(self, config: TrainConfig, graph: Graph) -> None:
        """Writes the graph, unless it is there, and the config last: with it the run exists."""
        if not self.has_run:
            graph.save(self.graph)
        self.config_file.write_text(config.to_json(), encoding="utf-8")

    def append_metrics(self, record: Mapping[str, Any]) -> None:
        """Adds a line to metrics.jsonl."""
        with self.metrics_file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
