"""Trains on parameter servers of this machine, and measures what each process and step takes.

Usage: python -m benchmarks.clusters --dataset=FOLDER --folder=DIR [--servers=2,4] [--output=FILE]
       python -m benchmarks.clusters --dataset=FOLDER --folder=DIR --embedding_dim=512 --limit_gib=9
       python -m benchmarks.clusters --dataset=FOLDER --folder=DIR --recovery

The same steps are taken in one process and by a worker with servers. Their traffic is what loopback
carries, beside what `benchmarks.distributed` counts. With --limit_gib, every process gets less
address space than the whole table needs. With --recovery, a worker and a server are killed.
"""

import contextlib
import json
import os
import pathlib
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from absl import flags

from benchmarks import measure
from benchmarks.distributed import count_batch
from datasets import catalog
from datasets.program import import_tensorflow, run_program
from trainers.reporting.training_log import read_records

_DATASET = flags.DEFINE_string("dataset", None, "A prepared folder, or a name.", required=True)
_FOLDER = flags.DEFINE_string("folder", None, "Where to work: a new folder.", required=True)
_SERVERS = flags.DEFINE_list("servers", ["2", "4"], "Numbers of servers.")
# The first two steps are not measured.
_STEPS = flags.DEFINE_integer("steps", 200, "Steps to take before a validation.", 3)
_DIM = flags.DEFINE_integer("embedding_dim", 32, "Size of the model.", 1)
_LIMIT = flags.DEFINE_float("limit_gib", None, "Address space of each process.")
_RECOVERY = flags.DEFINE_bool("recovery", False, "Kill a worker and a server, and resume.")
_SETTINGS = {"num_candidates": 4096, "n3": 0.02}
# A run that is killed.
_ENDLESS = ("--epochs=1000", "--validate_every=1000")
_POLL_SECONDS = 0.02


class Cluster:
    """Programs of a cluster; without servers, one program.

    Args:
        run_dir: The run.
        servers: How many servers.
        workers: How many workers.
        arguments: Further flags of `trainers.fit`.
        limit: Bytes of address space of each.

    Attributes:
        peaks: By task, the most resident bytes seen by `watch`.
    """

    def __init__(
        self,
        run_dir: pathlib.Path,
        servers: int = 0,
        workers: int = 1,
        *arguments: str,
        limit: int | None = None,
    ):
        self.run_dir, self._limit = run_dir, limit
        counts = {"chief": 1, "ps": servers, "worker": workers} if servers else {"chief": 1}
        self._addresses = _addresses(counts)
        tasks = [(job, index) for job, count in counts.items() for index in range(count)]
        self._arguments = [
            *(f"--run_dir={run_dir}", f"--dataset={_DATASET.value}", "--recipe=sampled"),
            *(f"--{name}={value}" for name, value in _settings().items()),
            *(["--strategy=parameter_server"] if servers else []),
            *arguments,
        ]
        self.started = time.perf_counter()
        self.tasks = {f"{job} {index}": self._start(job, index) for job, index in tasks}
        self.peaks = dict.fromkeys(self.tasks, 0)

    @property
    def steps(self) -> list[dict[str, Any]]:
        """The records of training so far."""
        return [record for record in _records(self.run_dir) if record["group"] == "train"]

    def watch(self) -> Iterator[int]:
        """Yields the number of training records, again and again, while the chief runs."""
        while self.tasks["chief 0"].poll() is None:
            for name, process in self.tasks.items():
                with contextlib.suppress(OSError, StopIteration):
                    lines = pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines()
                    peak = next(line for line in lines if line.startswith("VmHWM"))
                    self.peaks[name] = max(self.peaks[name], 1024 * int(peak.split()[1]))
            yield len(self.steps)
            time.sleep(_POLL_SECONDS)

    def wait(self, records: int = 1) -> float:
        """Returns the seconds until there are so many more training records."""
        start, before = time.perf_counter(), len(self.steps)
        for count in self.watch():
            # A resumed run first drops the records of lost work.
            before = min(before, count)
            if count >= before + records:
                break
        return time.perf_counter() - start

    def close(self) -> None:
        """Kills what still runs."""
        for process in self.tasks.values():
            process.kill()
            process.wait()

    def _start(self, job: str, index: int) -> subprocess.Popen:
        task = {"cluster": self._addresses, "task": {"type": job, "index": index}}
        self.run_dir.parent.mkdir(parents=True, exist_ok=True)
        log = self.run_dir.with_name(f"{self.run_dir.name}-{job}-{index}.txt")
        process = subprocess.Popen(
            [sys.executable, "-m", "trainers.fit", *self._arguments],
            env={**os.environ, "TF_CONFIG": json.dumps(task)},
            stdout=log.open("w"),
            stderr=subprocess.STDOUT,
        )
        if self._limit:
            resource.prlimit(process.pid, resource.RLIMIT_AS, (self._limit, self._limit))
        return process


def main() -> None:
    """Measures and prints."""
    folder = pathlib.Path(_FOLDER.value)
    import_tensorflow()
    servers = [int(count) for count in _SERVERS.value]
    record: dict[str, Any] = {}
    if _RECOVERY.value:
        record["recovery"] = [
            {"servers": count, **_recover(folder / f"recovery-{count}", count)} for count in servers
        ]
    else:
        limit = int(_LIMIT.value * 2**30) if _LIMIT.value else None
        record["cases"] = [_train(folder / f"servers-{n}", n, limit) for n in (0, *servers)]
        record["counted_bytes"] = measure.in_process(_count, _DATASET.value, _settings())
    print(json.dumps(record, indent=2))
    measure.write_result(record)


def _settings() -> dict[str, Any]:
    return {"embedding_dim": _DIM.value, **_SETTINGS}


def _train(run_dir: pathlib.Path, servers: int, limit: int | None = None) -> dict[str, Any]:
    """Takes the steps and validates once; returns what that took."""
    length = [f"--steps_per_epoch={_STEPS.value}", "--epochs=1", "--validate_every=1"]
    with contextlib.closing(Cluster(run_dir, servers, 1, *length, limit=limit)) as cluster:
        first = cluster.wait()
        traffic: list[int] = []
        for count in cluster.watch():
            if len(traffic) < count:
                traffic += [_loopback()] * (count - len(traffic))
            if measure.curve_of(_records(run_dir)):
                break
        code, steps = cluster.tasks["chief 0"].poll(), cluster.steps
        log = run_dir.with_name(f"{run_dir.name}-chief-0.txt").read_text().strip()
        found: dict[str, Any] = {"servers": servers, "limit_bytes": limit}
        if code:
            return {**found, "exit_code": code, "last_line": log.rpartition("\n")[2]}
        # The first call compiles, and a sample is ranked after it.
        taken = steps[-1]["step"] - steps[1]["step"]
        (validation,) = measure.curve_of(_records(run_dir))
        return {
            **found,
            "seconds_to_first_step": first,
            "milliseconds_per_step": 1e3 * (steps[-1]["seconds"] - steps[1]["seconds"]) / taken,
            "bytes_per_step": (traffic[-1] - traffic[1]) / taken if servers else 0,
            "losses": [steps[0]["loss"], steps[-1]["loss"]],
            "validation_mrr": validation["mrr"],
            "validation_mr": validation["mr"],
            "seconds_in_all": time.perf_counter() - cluster.started,
            "peak_bytes": cluster.peaks,
        }


def _recover(run_dir: pathlib.Path, servers: int) -> dict[str, float]:
    """Kills one of two workers, then a server, and returns the seconds to the next step."""
    with contextlib.closing(Cluster(run_dir, servers, 2, *_ENDLESS)) as cluster:
        cluster.wait(3)
        usual = cluster.wait()
        cluster.tasks["worker 0"].kill()
        worker = cluster.wait()
        cluster.tasks["ps 0"].kill()
        start = time.perf_counter()
        cluster.tasks["chief 0"].wait()
        noticed = time.perf_counter() - start
    with contextlib.closing(Cluster(run_dir, servers, 2, *_ENDLESS, "--resume")) as cluster:
        resumed = cluster.wait()
    return {
        "usual_record": usual,
        "after_lost_worker": worker,
        "until_lost_server_ends_the_run": noticed,
        "resumed_after": resumed,
    }


def _count(dataset: str, settings: dict[str, Any]) -> dict[str, float]:
    """Returns the bytes that a step reads from servers and writes to them, by arithmetic."""
    from trainers.training.presets import resolve
    from trainers.training.recipes import RECIPES

    graph = catalog.load(dataset)
    config = resolve(graph.name, "sampled", settings)
    batches = RECIPES["sampled"](config, graph, 1).batches()
    counted = [count_batch(batches, step, config, 1) for step in range(5)]
    _, read, written = np.mean(counted, axis=0)
    return {"read": float(read), "written": float(written)}


def _records(run_dir: pathlib.Path) -> list[dict[str, Any]]:
    path = run_dir / "metrics.jsonl"
    return read_records(path) if path.exists() else []


def _loopback() -> int:
    """Returns the bytes that this machine has sent to itself."""
    lines = pathlib.Path("/proc/net/dev").read_text().splitlines()
    return int(next(line for line in lines if line.strip().startswith("lo:")).split()[9])


def _addresses(counts: dict[str, int]) -> dict[str, list[str]]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(sum(counts.values()))]
    ports = iter([f"127.0.0.1:{server.getsockname()[1]}" for server in sockets])
    for server in sockets:
        server.close()
    return {job: [next(ports) for _ in range(count)] for job, count in counts.items() if count}


if __name__ == "__main__":
    run_program(main)
