"""Programs of the `quatre` command, started by Python code."""

import os
import pathlib
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

import quatre_tf
from quatre_tf.errors import DataError

# At the end of the path: a folder of libraries must not come before Python's own modules.
_START = "import sys; sys.path.append(sys.argv.pop(1)); from quatre_tf.__main__ import main; main()"


def run_program(
    name: str, flags: Mapping[str, Any], log: Callable[[str], Any] | None = None
) -> list[str]:
    """Runs a program in a process of its own.

    An interruption is passed on, so that a training saves a checkpoint.

    Args:
        name: Name of the program.
        flags: Its flags; those that are None are left out.
        log: Called with each line that it prints, on standard output or standard error.

    Returns:
        The lines.

    Raises:
        DataError: The program ended with an error; the message is the program's.
    """
    library = pathlib.Path(quatre_tf.__file__).resolve().parent.parent
    given = [f"--{flag}={value}" for flag, value in flags.items() if value is not None]
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", _START, str(library), name, *given],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        # Libraries in C++ may print names of files in any encoding.
        errors="backslashreplace",
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    assert process.stdout is not None
    lines = []
    with process:
        try:
            for line in process.stdout:
                lines.append(line.removesuffix("\n"))
                if log is not None:
                    log(lines[-1])
        except BaseException:
            process.send_signal(signal.SIGINT)
            raise
    if process.returncode:
        _, _, message = "\n".join(["", *lines]).rpartition("\nerror: ")
        message = message.removeprefix("\n")
        raise DataError(f"`quatre {name}` ended with exit code {process.returncode}: {message}")
    return lines
