"""What a process holds on to, and whether it grows."""

import ctypes
import gc
import os
import pathlib
from collections.abc import Sequence
from typing import Any

import numpy as np


class _Allocations(ctypes.Structure):
    """`struct mallinfo2` of the GNU C library."""

    _fields_ = [
        ("arena", ctypes.c_size_t),
        ("ordblks", ctypes.c_size_t),
        ("smblks", ctypes.c_size_t),
        ("hblks", ctypes.c_size_t),
        ("hblkhd", ctypes.c_size_t),
        ("usmblks", ctypes.c_size_t),
        ("fsmblks", ctypes.c_size_t),
        ("uordblks", ctypes.c_size_t),
        ("fordblks", ctypes.c_size_t),
        ("keepcost", ctypes.c_size_t),
    ]


def holdings() -> dict[str, Any]:
    """Returns what this process holds: memory in MB, threads, open files.

    `megabytes` are resident: what is in use, what the allocator keeps for later, code. `allocated`
    are those in use alone, to the byte; NaN where the C library does not tell.
    """
    gc.collect()
    pages = int(pathlib.Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return {
        "megabytes": pages * os.sysconf("SC_PAGE_SIZE") / 1e6,
        "allocated": _allocated() / 1e6,
        "threads": len(os.listdir("/proc/self/task")),
        "files": len(os.listdir("/proc/self/fd")),
    }


def _allocated() -> float:
    count = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if count is None:
        return float("nan")
    count.restype = _Allocations
    found = count()
    return float(found.uordblks + found.hblkhd)


def growth(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Returns how much more the second half of the rounds held towards its end.

    Args:
        rows: Of each round `holdings` and the seconds since the start.

    Returns:
        The slopes of the lines of least squares through the memory, resident by hour and by round
        and allocated by round, and the threads and files of the last round above the first of that
        half; 0 of fewer than two.
    """
    half = rows[len(rows) // 2 :]

    def slope(along: Sequence[float], name: str) -> float:
        return float(np.polyfit(along, [row[name] for row in half], 1)[0]) if half[1:] else 0.0

    return {
        "megabytes_per_hour": 3600 * slope([row["seconds"] for row in half], "megabytes"),
        "kilobytes_per_round": 1e3 * slope(range(len(half)), "megabytes"),
        "allocated_kilobytes_per_round": 1e3 * slope(range(len(half)), "allocated"),
        **{name: half[-1][name] - half[0][name] for name in ("threads", "files")},
    }
