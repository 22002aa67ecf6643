"""What a process holds on to, and whether it grows."""

import gc
import os
import pathlib
from collections.abc import Sequence
from typing import Any

import numpy as np


def holdings() -> dict[str, Any]:
    """Returns what this process holds: resident memory in MB, threads, open files."""
    gc.collect()
    pages = int(pathlib.Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return {
        "megabytes": pages * os.sysconf("SC_PAGE_SIZE") / 1e6,
        "threads": len(os.listdir("/proc/self/task")),
        "files": len(os.listdir("/proc/self/fd")),
    }


def growth(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Returns how much more the second half of the rounds held towards its end.

    Args:
        rows: Of each round `holdings` and the seconds since the start.

    Returns:
        The slope of the line of least squares through the memory, by hour and by round, and the
        threads and files of the last round above the first of that half; 0 of fewer than two.
    """
    half = rows[len(rows) // 2 :]
    if len(half) < 2:
        return {"megabytes_per_hour": 0.0, "kilobytes_per_round": 0.0, "threads": 0, "files": 0}
    memory = [row["megabytes"] for row in half]
    by_second = np.polyfit([row["seconds"] for row in half], memory, 1)[0]
    return {
        "megabytes_per_hour": float(3600 * by_second),
        "kilobytes_per_round": float(1e3 * np.polyfit(range(len(half)), memory, 1)[0]),
        **{name: half[-1][name] - half[0][name] for name in ("threads", "files")},
    }
