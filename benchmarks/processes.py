"""Timing of whole commands, seen from outside."""

import pathlib
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from typing import IO

import numpy as np

from quatre_tf.errors import DataError

# How often a condition is looked at; what it costs disappears in the time of an import.
_POLL_SECONDS = 0.005


def seconds(command: Sequence[str]) -> float:
    """Returns what a command takes to its end.

    Raises:
        DataError: It does not end with exit code 0.
    """
    start = time.perf_counter()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        process.wait()
        taken = time.perf_counter() - start
        if process.returncode:
            raise failed(command, process.returncode, output)
    return taken


def seconds_until_grown(command: Sequence[str], path: pathlib.Path) -> float:
    """Returns what a command takes until it has written to a file, and ends it then.

    Args:
        command: The command.
        path: The file; it need not be there before.

    Raises:
        DataError: The command ends without having written to it.
    """
    before = _size(path)
    start = time.perf_counter()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        try:
            while (size := _size(path)) <= before:
                # A run that is resumed first drops the lines of what it lost.
                before = size
                if process.poll() is not None:
                    raise failed(command, process.returncode, output)
                time.sleep(_POLL_SECONDS)
            return time.perf_counter() - start
        finally:
            process.kill()
            process.wait()


def medians(timed: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """Returns the median of the seconds that each call returns, taken in turns.

    One round before is not counted: it fills the caches of the disk.
    """
    times: dict[str, list[float]] = {name: [] for name in timed}
    for _ in range(1 + rounds):
        for name, call in timed.items():
            times[name].append(call())
    return {name: float(np.median(values[1:])) for name, values in times.items()}


def _size(path: pathlib.Path) -> int:
    return path.stat().st_size if path.exists() else 0


def failed(command: Sequence[str], code: int, output: IO[bytes]) -> DataError:
    """Returns the error of a command that ended so, with the last line of its output."""
    output.seek(0)
    last = output.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
    return DataError(f"`{' '.join(command)}` ended with exit code {code}. It said: {last}")
