"""The folder of a run: what lies where, and that only one run writes to it."""

import contextlib
import dataclasses
import json
import os
import pathlib
import shutil
from collections.abc import Iterator, Mapping
from typing import Any

import filelock

from quatre_tf.atomic_files import write_text
from quatre_tf.data.graph import Graph
from quatre_tf.errors import ConfigError
from quatre_tf.run import BEST_MODEL, GRAPH
from trainers.training.config import TrainConfig


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

    @property
    def is_untrained(self) -> bool:
        """Whether there is nothing to go on from: a run that was killed as it began."""
        is_saved = any(self.checkpoints.glob("*.index"))
        return not is_saved and not (self.path / BEST_MODEL).exists()

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Holds the folder for this process.

        Raises:
            ConfigError: Another process trains in it, or it is a file.
        """
        if self.path.exists() and not self.path.is_dir():
            raise ConfigError(f"{self.path} is a file. Expected the folder of a run as --run_dir.")
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

    def begin(self, config: TrainConfig, graph: Graph) -> Graph:
        """Writes the graph, unless it is there, and the config last: with it the run exists.

        Returns:
            The graph, which has its indexes from the folder.
        """
        if not self.has_run:
            self._save_graph(graph)
        write_text(self.config_file, config.to_json())
        return dataclasses.replace(graph, folder=self.graph)

    def _save_graph(self, graph: Graph) -> None:
        partial = self.graph.with_name(f".{GRAPH}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        graph.save(partial)
        if (self.graph / "graph.json").exists():
            # Of a run that was killed before it had its settings.
            shutil.rmtree(self.graph)
        os.replace(partial, self.graph)

    def append_metrics(self, record: Mapping[str, Any]) -> None:
        """Adds a line to metrics.jsonl."""
        with self.metrics_file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def rewind_metrics(self, step: int) -> None:
        """Drops the lines of work that was lost: after `step`, or cut off."""
        if self.metrics_file.exists():
            *lines, _cut_off = self.metrics_file.read_text(encoding="utf-8").split("\n")
            kept = [f"{line}\n" for line in lines if _step_of(line) <= step]
            write_text(self.metrics_file, "".join(kept))


def _step_of(line: str) -> int:
    try:
        return json.loads(line)["step"]
    except (ValueError, KeyError, TypeError):
        # Not a line of ours to judge: whoever reads the file names it.
        return -1
