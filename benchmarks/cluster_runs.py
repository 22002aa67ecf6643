"""Short trainings as clusters on the loopback of this machine, timed by what they write."""

import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from benchmarks.processes import failed
from quatre_tf.errors import DataError

_HOST = "127.0.0.1"
_POLL_SECONDS = 0.1
# The first calls compile.
_WARM_UP_STEPS = 5


class Setup(NamedTuple):
    """A way to train: the strategy and how many tasks of each job."""

    strategy: str
    tasks: Mapping[str, int]

    @property
    def name(self) -> str:
        """For the table."""
        counts = [f"{count} {job}" for job, count in self.tasks.items() if job != "chief"]
        return ", ".join([self.strategy, *counts])


SETUPS = (
    Setup("default", {}),
    Setup("multi_worker", {"worker": 1}),
    Setup("multi_worker", {"worker": 2}),
    Setup("parameter_server", {"chief": 1, "ps": 1, "worker": 1}),
    Setup("parameter_server", {"chief": 1, "ps": 2, "worker": 1}),
    Setup("parameter_server", {"chief": 1, "ps": 4, "worker": 1}),
)


def measure_setup(setup: Setup, fit: Sequence[str], run_dir: pathlib.Path) -> dict[str, Any]:
    """Trains, and returns what a step took and moved.

    Args:
        setup: The way.
        fit: The command of the training but for strategy and run directory; it validates at the
            end only.
        run_dir: Where to.

    Returns:
        `{"setup", "milliseconds", "loopback_bytes", "loss", "test_mrr"}`: time and bytes are means
        of a step after the first few, and the bytes those of the whole machine's loopback
        meanwhile; the loss is the mean of all steps.

    Raises:
        DataError: A process of it fails.
    """
    command = [*fit, f"--strategy={setup.strategy}", f"--run_dir={run_dir}"]
    metrics = run_dir / "metrics.jsonl"
    seen: list[tuple[int, int]] = []
    with _started(setup, command, run_dir.parent) as chief:
        while chief.poll() is None:
            steps = [record["step"] for record in train_records(metrics)]
            if steps and (not seen or steps[-1] > seen[-1][0]):
                seen.append((steps[-1], _loopback_bytes()))
            time.sleep(_POLL_SECONDS)
    records = train_records(metrics)
    tested = json.loads((run_dir / "test_metrics.json").read_text(encoding="utf-8"))
    return {
        "setup": setup.name,
        "milliseconds": 1e3 * _slope([(r["step"], r["seconds"]) for r in records]),
        "loopback_bytes": _slope(seen),
        "loss": mean_loss(records),
        "test_mrr": tested["candidates"]["all"]["both"]["mrr"],
    }


def train_records(path: pathlib.Path) -> list[dict[str, Any]]:
    """Returns the whole lines of a growing metrics.jsonl that are of training."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    lines = text[: text.rfind("\n") + 1].splitlines()
    return [record for record in map(json.loads, lines) if record["group"] == "train"]


def mean_loss(records: Sequence[dict[str, Any]]) -> float:
    """Returns the mean over steps; a record has that of the steps since the one before."""
    starts = [0, *(record["step"] for record in records)]
    parts = zip(records, starts, strict=False)
    return sum((r["step"] - start) * r["loss"] for r, start in parts) / records[-1]["step"]


def _slope(points: Sequence[tuple[float, float]]) -> float:
    """Returns the mean growth a step after the first few."""
    kept = [point for point in points if point[0] >= _WARM_UP_STEPS]
    if len(kept) < 2:
        raise DataError(f"--steps is too small to see a step apart from the first ones: {points}.")
    (first, low), (last, high) = kept[0], kept[-1]
    return (high - low) / (last - first)


@contextlib.contextmanager
def _started(
    setup: Setup, command: Sequence[str], folder: pathlib.Path
) -> Iterator[subprocess.Popen]:
    """Starts all tasks and gives the chief, whose end is waited for; ends the others."""
    addresses = free_addresses(setup.tasks)
    tasks = [(job, index) for job, hosts in addresses.items() for index in range(len(hosts))]
    with contextlib.ExitStack() as stack:
        started = []
        for job, index in tasks or [("", 0)]:
            task = {"cluster": addresses, "task": {"type": job, "index": index}}
            environment = os.environ | ({"TF_CONFIG": json.dumps(task)} if addresses else {})
            output = stack.enter_context((folder / f"{job}{index}.txt").open("w+b"))
            process = subprocess.Popen(
                command, stdout=output, stderr=subprocess.STDOUT, env=environment
            )
            stack.callback(_end, process)
            started.append((process, output))
        chief, output = started[0]
        yield chief
        if chief.wait():
            raise failed(command, chief.returncode, output)


def _end(process: subprocess.Popen) -> None:
    process.kill()
    process.wait()


def free_addresses(tasks: Mapping[str, int]) -> dict[str, list[str]]:
    """Returns addresses on free ports of loopback, `{job: ["host:port", ...]}`, for TF_CONFIG."""
    with contextlib.ExitStack() as held:
        # All at once, so that they differ.
        sockets = [held.enter_context(socket.socket()) for _ in range(sum(tasks.values()))]
        for one in sockets:
            one.bind((_HOST, 0))
        free = iter([f"{_HOST}:{one.getsockname()[1]}" for one in sockets])
        return {job: [next(free) for _ in range(count)] for job, count in tasks.items()}


def _loopback_bytes() -> int:
    """Returns what went over loopback since the machine started."""
    return int(pathlib.Path("/sys/class/net/lo/statistics/tx_bytes").read_text(encoding="ascii"))


def fit_command(dataset: str, recipe: str, steps: int, given: Sequence[str]) -> list[str]:
    """Returns the command of a training of so many steps; the preset's sizes."""
    return [
        *(sys.executable, "-m", "trainers.fit", f"--dataset={dataset}", f"--recipe={recipe}"),
        *(f"--steps_per_epoch={steps}", "--epochs=1", "--validate_every=1", *given),
    ]
