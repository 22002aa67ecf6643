"""Programs of the checkout, each in a process of its own in which TensorFlow is imported already.

One server per test process imports what takes seconds, and is forked for each program.
"""

import multiprocessing
import os
import pathlib
import runpy
import shlex
import sys
import tempfile

from trainers.command_line import MODULES

ROOT = str(pathlib.Path(__file__).parent.parent)
FORKED = multiprocessing.get_context("forkserver")
# Importing them starts no thread that computes: they can be forked.
FORKED.set_forkserver_preload(
    ["tensorflow", "keras", "tensorflow_datasets", "pyarrow", "trainers.training.fitting"]
)


def run(module, *arguments, folder=ROOT, timeout=600):
    """Returns (exit code, what is printed) of `python -m MODULE ARGUMENTS` in a folder."""
    arguments = list(map(str, arguments))
    with tempfile.TemporaryDirectory() as scratch:
        printed = pathlib.Path(scratch, "printed")
        process = FORKED.Process(target=_main, args=(module, arguments, folder, printed))
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            process.join()
        return process.exitcode, printed.read_text(encoding="utf-8")


def type_in(command, folder):
    """As `run` of a line, or of its words: `quatre PROGRAM ...` or `python -m MODULE ...`."""
    first, second, *rest = shlex.split(command) if isinstance(command, str) else command
    if first == "quatre":
        return run(MODULES[second], *rest, folder=folder)
    assert (first, second) == ("python", "-m"), command
    return run(*rest, folder=folder)


def _main(module, arguments, folder, printed):
    with printed.open("wb") as file:
        os.dup2(file.fileno(), sys.stdout.fileno())
        os.dup2(file.fileno(), sys.stderr.fileno())
    os.chdir(folder)
    sys.path[:0] = [ROOT]
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
