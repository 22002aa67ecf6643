"""Processes of a cluster: their roles (TF_CONFIG), output folders, and lost processes."""

import atexit
import contextlib
import dataclasses
import json
import os
import pathlib
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

from quatre_tf.errors import ClusterError, ConfigError

# The jobs that a strategy needs; each process has one task of one of them.
JOBS = {"multi_worker": ("worker",), "parameter_server": ("chief", "ps", "worker")}
_EXAMPLE = """TF_CONFIG='{"cluster": {%s}, "task": {"type": "%s", "index": 0}}'"""
# A resuming worker needs only the settings, the graph, the state and the best weights of a run.
_NOT_NEEDED = shutil.ignore_patterns(".lock", "tensorboard", "saved_model", "report")


@dataclasses.dataclass(frozen=True)
class Cluster:
    """The processes of a run and which one this is.

    Attributes:
        addresses: `host:port` of each task, by job; empty for a run in one process.
        job: The job of this process.
        index: Its number in that job.
    """

    addresses: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    job: str = ""
    index: int = 0

    @classmethod
    def from_environment(cls, strategy: str) -> "Cluster":
        """Reads TF_CONFIG for a strategy that needs it.

        Raises:
            ConfigError: TF_CONFIG is missing, malformed, or not for this strategy.
        """
        if strategy not in JOBS:
            return cls()
        text = os.environ.get("TF_CONFIG", "")
        try:
            config = json.loads(text)
            addresses = {job: _hosts(hosts) for job, hosts in config["cluster"].items()}
            cluster = cls(addresses, config["task"]["type"], int(str(config["task"]["index"])))
            if set(addresses) != set(JOBS[strategy]) or not cluster._has_task:
                raise ValueError(
                    "Other jobs than the strategy has, or a task that is none of them."
                )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ConfigError(_describe(strategy, text)) from error
        return cluster

    @property
    def is_chief(self) -> bool:
        """Whether this process writes the run; a run in one process is its own chief."""
        return self.job in ("", "chief") or ("chief" not in self.addresses and self.index == 0)

    @property
    def is_server(self) -> bool:
        """Whether this process only does what a coordinator asks it to."""
        return "chief" in self.addresses and self.job != "chief"

    def count(self, job: str) -> int:
        """Returns how many tasks a job has."""
        return len(self.addresses.get(job, ()))

    @property
    def _has_task(self) -> bool:
        return 0 <= self.index < self.count(self.job)


@contextlib.contextmanager
def membership(cluster: Cluster, run_dir: pathlib.Path, resume: bool) -> Iterator[pathlib.Path]:
    """Gives the folder that this process writes its run to.

    The chief writes `run_dir`. The other workers do the same work and write the same to a temporary
    folder, as TensorFlow's guide has it: saving may be something that all replicas have to do.

    Raises:
        ClusterError: Another process of the cluster was lost.
    """
    if cluster.addresses:
        # When a process ends, TensorFlow logs that connections of the others are gone: nobody is to
        # take that for what happened.
        atexit.register(_mute)
    try:
        if cluster.is_chief:
            yield run_dir
        else:
            with _following(cluster, run_dir, resume) as own:
                yield own
    except Exception as error:
        if not cluster.addresses or not _is_loss(error):
            raise
        # A coordinator that has lost a worker before waits for it forever when it is torn down.
        atexit.register(_end, 1)
        raise ClusterError(
            f"A process of the cluster was lost, so this one stops ({type(error).__name__}). "
            f"Start all of them again with --run_dir={run_dir} --resume: they resume from the last "
            "checkpoint."
        ) from error


def _mute() -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def _end(code: int) -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


@contextlib.contextmanager
def _following(cluster: Cluster, run_dir: pathlib.Path, resume: bool) -> Iterator[pathlib.Path]:
    print(f"Worker {cluster.index}: worker 0 is the chief, which reports and writes {run_dir}.")
    with (
        tempfile.TemporaryDirectory(prefix="quatre-worker-") as folder,
        open(os.devnull, "w", encoding="utf-8") as nothing,
        contextlib.redirect_stdout(nothing),
    ):
        own = pathlib.Path(folder) / "run"
        if resume:
            shutil.copytree(run_dir, own, ignore=_NOT_NEEDED)
        yield own


def _is_loss(error: Exception) -> bool:
    """Returns whether TensorFlow raises the error in the processes that a lost one leaves."""
    import tensorflow as tf

    losses = (
        tf.errors.UnavailableError,
        tf.errors.AbortedError,
        tf.errors.CancelledError,
        tf.errors.DeadlineExceededError,
        tf.errors.InternalError,
        tf.errors.UnknownError,
    )
    return isinstance(error, losses)


def _hosts(hosts: Any) -> tuple[str, ...]:
    if not isinstance(hosts, list) or not all(":" in host for host in hosts):
        raise TypeError('Expected ["host:port", ...].')
    return tuple(hosts)


def _describe(strategy: str, text: Any) -> str:
    jobs = JOBS[strategy]
    cluster = ", ".join(f'"{job}": ["host:port", ...]' for job in jobs)
    return (
        f"--strategy={strategy} needs the environment variable {_EXAMPLE % (cluster, jobs[0])} in "
        f"each process, with its own task and the same cluster (docs/distributed.md). "
        f"Received: {text!r}."
    )
