"""Standard output and error of a program, which may be closed, full, or without Unicode."""

import io
import os
import sys
from typing import Any

from quatre_tf.errors import DataError


class OutputError(DataError):
    """Standard output takes nothing any more."""


class _Stream(io.FileIO):
    """A standard stream. Its first error is told once, and what comes after that is dropped."""

    # Whether the program goes on without standard output.
    is_optional = False

    def __init__(self, descriptor: int):
        super().__init__(descriptor, "w", closefd=False)
        self._is_lost = False

    def write(self, data: Any) -> int:
        """Writes bytes; returns how many were taken."""
        if not self._is_lost:
            try:
                return super().write(data)
            except OSError as error:
                self._is_lost = True
                if self.fileno() == 1:
                    self._tell(error)
        return len(memoryview(data).cast("B"))

    def _tell(self, error: OSError) -> None:
        if not self.is_optional:
            if isinstance(error, BrokenPipeError):
                raise error
            raise OutputError(f"Cannot write to standard output: {error.strerror}.") from error
        sys.stderr.write(
            f"Cannot write to standard output: {error.strerror}. Training goes on without it; its "
            "figures are in metrics.jsonl of the run.\n"
        )


def open_standard_streams() -> None:
    """Makes `sys.stdout` and `sys.stderr` streams that lose nothing but themselves.

    Characters that their encoding lacks are escaped. Errors of standard error are ignored. Standard
    output raises `OutputError`, or `BrokenPipeError` if its reader left.
    """
    # One that is closed, or else the next file would have its number, and what is printed would go
    # into that. Writing to it fails, as it should.
    while (descriptor := os.open(os.devnull, os.O_RDONLY)) <= 2:
        pass
    os.close(descriptor)
    for descriptor, name in ((1, "stdout"), (2, "stderr")):
        before, raw = getattr(sys, name), _Stream(descriptor)
        is_unbuffered = bool(before and before.write_through)
        stream = io.TextIOWrapper(
            raw if is_unbuffered else io.BufferedWriter(raw),
            encoding=before.encoding if before else "utf-8",
            errors="backslashreplace",
            line_buffering=raw.isatty() or descriptor == 2,
            write_through=is_unbuffered,
        )
        setattr(sys, name, stream)


def outlast_output() -> None:
    """Makes the program go on when standard output is lost: it has better things to do."""
    _Stream.is_optional = True
