"""Memory, threads and open files of this process."""

import ctypes
import gc
import os
import pathlib
from typing import Any


class _MallInfo2(ctypes.Structure):
    """`struct mallinfo2` of the GNU C library."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


def resource_usage() -> dict[str, Any]:
    """Returns the memory in MB and the numbers of threads and open files, after a collection.

    `megabytes` is the resident memory: what is in use, what the allocator keeps for later, and
    code. `allocated` is the memory in use, exact to the byte; NaN if the C library cannot tell.
    """
    gc.collect()
    pages = int(pathlib.Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return {
        "megabytes": pages * os.sysconf("SC_PAGE_SIZE") / 1e6,
        "allocated": _allocated_bytes() / 1e6,
        "threads": len(os.listdir("/proc/self/task")),
        "files": len(os.listdir("/proc/self/fd")),
    }


def _allocated_bytes() -> float:
    mallinfo2 = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if mallinfo2 is None:
        return float("nan")
    mallinfo2.restype = _MallInfo2
    info = mallinfo2()
    return float(info.uordblks + info.hblkhd)
