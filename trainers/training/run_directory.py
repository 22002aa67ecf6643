"""The run directory: its paths, and a lock for its only writer."""

import contextlib
import dataclasses
import json
import os
import pathlib
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import filelock

from quatre_tf.atomic_files import write_text
from quatre_tf.data.graph import Graph, stored_fingerprint
from quatre_tf.errors import ConfigError, DataError
from quatre_tf.paths import BEST_MODEL, CONFIG, GRAPH
from trainers.training.config import TrainConfig, differences

_LOCK = ".lock"
_INDEX = re.compile(r"ckpt-(\d+)\.index")


def checkpoint_steps(folder: pathlib.Path) -> list[int]:
    """Returns the steps of the checkpoints in a folder, the last first."""
    found = [_INDEX.fullmatch(path.name) for path in folder.glob("ckpt-*.index")]
    return sorted((int(match[1]) for match in found if match), reverse=True)


class RunDirectory:
    """Paths and small files of a run.

    config.json, metrics.jsonl, graph/, checkpoints/ (the last), best/ (the model that validated
    best), tensorboard/, saved_model/<version>/, report/, test_metrics.json.
    """

    def __init__(self, path: pathlib.Path):
        self.path = path
        self.config_file = path / CONFIG
        self.metrics_file = path / "metrics.jsonl"
        self.test_metrics_file = path / "test_metrics.json"
        self.checkpoints = path / "checkpoints"
        # The settings that the checkpoints are of; people edit the other file.
        self.trained_config_file = self.checkpoints / CONFIG
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
        return not self.checkpoint_steps and not (self.path / BEST_MODEL).exists()

    @property
    def checkpoint_steps(self) -> list[int]:
        """The steps of the checkpoints, the last first."""
        return checkpoint_steps(self.checkpoints)

    def check_kinds(self) -> None:
        """Raises DataError where a file of a run is something else, or a folder of it is."""
        files = (self.config_file, self.metrics_file, self.test_metrics_file, self.path / _LOCK)
        for path in files:
            # Also a link that leads nowhere: it is told before, not after the training.
            if os.path.lexists(path) and not path.is_file():
                raise DataError(f"{path} is not a file, as a run has it. Move it away.")
        for path in (self.checkpoints, self.path / "best", self.tensorboard, self.graph):
            if os.path.lexists(path) and not path.is_dir():
                raise DataError(f"{path} is not a folder, as a run has it. Move it away.")

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Holds the folder for this process.

        Raises:
            ConfigError: Another process trains in it, or it is a file.
        """
        if self.path.exists() and not self.path.is_dir():
            raise ConfigError(f"{self.path} is a file. Expected the folder of a run as --run_dir.")
        self.path.mkdir(parents=True, exist_ok=True)
        self.check_kinds()
        lock = filelock.FileLock(self.path / _LOCK)
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
        if self.is_untrained:
            self.checkpoints.mkdir(exist_ok=True)
            write_text(self.trained_config_file, config.to_json())
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


def check_same(config: TrainConfig, run: RunDirectory) -> None:
    """Expects the run, if it is there, to have these settings.

    Raises:
        ConfigError: It has others; names them all.
    """
    if not run.has_run:
        return
    stored = TrainConfig.from_file(run.config_file)
    if others := differences(stored, dataclasses.asdict(config)):
        raise ConfigError(
            f"{run.path} holds a run with other settings: {others}. Runs of one "
            "folder are compared: give the same flags, or choose another --output."
        )


def check_one_graph(runs: Iterable[RunDirectory], graph: Graph) -> None:
    """Expects the runs that are there to be on the graph that a program began with.

    Raises:
        DataError: One is not, because the data set changed before or since.
    """
    for run in runs:
        if run.has_run and stored_fingerprint(run.graph) != graph.fingerprint:
            raise DataError(
                f"{run.path} was trained on another graph than {graph.name} was when this command "
                "began. Choose another --output, or remove the runs on the other graph."
            )


def drop_unless_resumable(run: RunDirectory) -> None:
    """Removes a run that was killed before its first checkpoint: there is nothing to resume.

    Raises:
        ConfigError: Another process trains in it.
    """
    if run.has_run and run.is_untrained:
        with run.locked():
            shutil.rmtree(run.path)


def _step_of(line: str) -> int:
    try:
        return json.loads(line)["step"]
    except (ValueError, KeyError, TypeError):
        # Not a line of ours to judge: whoever reads the file names it.
        return -1
