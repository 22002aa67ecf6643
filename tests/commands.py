"""Programs of the checkout, each in a process of its own.

`run` is the quick way: one server per test process imports TensorFlow, and is forked for each
program. `start`, `launch` and `launch_without` begin from nothing, as a person does.
"""

import multiprocessing
import os
import pathlib
import runpy
import shlex
import signal
import subprocess
import sys
import tempfile

from trainers.command_line import MODULES

ROOT = str(pathlib.Path(__file__).parent.parent)
FORKED = multiprocessing.get_context("forkserver")
# Importing them starts no thread that computes: they can be forked.
FORKED.set_forkserver_preload(
    ["tensorflow", "keras", "tensorflow_datasets", "pyarrow", "trainers.training.fitting"]
)


def start(*arguments, **environment):
    """The process of `python ARGUMENTS` in the checkout, with pipes for what it prints."""
    ours = ("TF_CPP_MIN_LOG_LEVEL", "KERAS_HOME")
    quiet = {k: v for k, v in os.environ.items() if k not in ours}
    return subprocess.Popen(
        # Unbuffered: a reader that is gone is noticed at the first line, however short the text.
        [sys.executable, "-u", *map(str, arguments)],
        cwd=ROOT,
        env=quiet | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell starts background jobs with SIGINT ignored, and children inherit it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def launch(*arguments, **environment):
    """As `start` -> (exit code, what it prints, what it prints as errors)."""
    process = start(*arguments, **environment)
    out, err = process.communicate(timeout=240)
    return process.returncode, out, err


def launch_without(blocked, module, *arguments):
    """As `launch` of a module in a process that cannot import what is named in `blocked`.

    That is a sharper test of how light a program starts than a clock.
    """
    code = (
        f"import sys, runpy; sys.modules.update(dict.fromkeys({blocked.split()}));"
        f"sys.argv[0] = {module!r}; runpy.run_module({module!r}, run_name='__main__')"
    )
    return launch("-c", code, *arguments)


def run(module, *arguments, folder=ROOT, timeout=600):
    """Returns (exit code, what is printed) of `python -m MODULE ARGUMENTS` in a folder."""
    arguments = list(map(str, arguments))
    with tempfile.TemporaryDirectory() as scratch:
        printed = pathlib.Path(scratch, "printed")
        process = FORKED.Process(
            target=_main, args=(module, arguments, dict(os.environ), folder, printed)
        )
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


def replace_environment(environment):
    """Gives this forked process another environment than that of the server that forked it."""
    os.environ.clear()
    os.environ.update(environment)


def _main(module, arguments, environment, folder, printed):
    replace_environment(environment)
    with printed.open("wb") as file:
        os.dup2(file.fileno(), sys.stdout.fileno())
        os.dup2(file.fileno(), sys.stderr.fileno())
    os.chdir(folder)
    sys.path[:0] = [ROOT]
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
