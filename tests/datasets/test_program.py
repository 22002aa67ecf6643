"""What all programs share, tried on one that starts fast."""

import os
import subprocess
import sys

import pytest

from tests import commands

SCRIPT = r"""
import os, resource, sys
from absl import flags
from quatre_tf.errors import DataError
from datasets.program import import_tensorflow, place_in_help, run_program
from datasets.standard_streams import outlast_output
_WHAT = flags.DEFINE_string("what", "", "What to do.")
flags.DEFINE_integer("petals", 5, "Petals of a flower.", lower_bound=3)
flags.DEFINE_bool("thorns", False, "Whether it stings.")
place_in_help("petals", "flower")
place_in_help("thorns", "flower", is_basic=False)

def main():
    if _WHAT.value == "mistake":
        raise DataError("Expected a flower, received a stone.")
    if _WHAT.value == "defect":
        raise KeyError("oops")
    if _WHAT.value in ("outlast", "read"):
        if _WHAT.value == "outlast":
            outlast_output()
        print("5 \u00b1 2")
        sys.stdout.flush()
        # Files have numbers of their own, whatever is closed.
        with open("file", "w") as file:
            print("printed")
            file.write(str(file.fileno() > 2))
        sys.stderr.write("went on\n")
        return 0
    if _WHAT.value == "tensorflow":
        import_tensorflow()
        import keras
        import pyarrow
        pyarrow.array(["Arrow looks for pandas"])
        unused = {"pandas", "sklearn"} & sys.modules.keys()
        print(keras.backend.backend(), keras.config.floatx(), *unused)
        return 0
    if _WHAT.value == "memory":
        import_tensorflow()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(4):
            b"x" * (100 << 20)
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
        print(faults < 1.5 * (100 << 20) / resource.getpagesize())
        return 0
    if _WHAT.value == "interrupt":
        raise KeyboardInterrupt
    for number in range(100_000):
        print(number)

run_program(main)
"""


def run(*arguments, **environment):
    return commands.launch("-c", SCRIPT, *arguments, **environment)


def test_help_has_headings_and_two_pages():
    basic = (
        "  --what: What to do.\n\n"
        "flower:\n  --petals: Petals of a flower. (default: '5')\n\n"
        "All 6 flags: --help_all\n"
    )
    # Both flags print the help without an error.
    assert run("--help") == run("-?") == (0, basic, "")
    _, out, _ = run("--help_all")
    assert "  --[no]thorns: Whether it stings.\n\nevery program:\n" in out
    assert "  --[no]debug: Show the traceback of an error.\n" in out
    assert "--help_all\n" not in out


def test_wrong_flags_are_an_error():
    code, out, err = run("--whatt=1")
    assert (code, out) == (1, "")
    assert "Unknown command line flag 'whatt'. Did you mean: what ?" in err


def test_a_mistake_is_one_line_and_a_traceback_on_request():
    assert run("--what=mistake") == (1, "", "error: Expected a flower, received a stone.\n")
    code, _, err = run("--what=mistake", "--debug")
    assert code == 1
    assert "Traceback" in err


def test_interruption():
    assert run("--what=interrupt") == (130, "", "Interrupted.\n")


def test_a_reader_that_leaves_early_is_no_reason_to_complain():
    process = commands.start("-c", SCRIPT)
    process.stdout.close()
    assert process.wait(timeout=60) == 141
    assert process.stderr.read() == ""
    process.stderr.close()


@pytest.mark.parametrize(
    ("redirection", "reason"),
    [(">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")],
)
def test_lost_output(redirection, reason, tmp_path):
    """A program that only prints ends with one line; one that trains says so and goes on."""
    error = f"Cannot write to standard output: {reason}."
    assert shell("read", redirection, tmp_path) == (1, "", f"error: {error}\n")
    code, out, err = shell("outlast", redirection, tmp_path)
    assert (code, out) == (0, "")
    assert (
        err == f"{error} Training goes on without it; its figures are in metrics.jsonl of the "
        "run.\nwent on\n"
    )
    assert (tmp_path / "file").read_text() == "True"


@pytest.mark.parametrize("redirection", ["2>/dev/full", "2>&-", "<&- 2>&-"])
def test_lost_errors(redirection, tmp_path):
    assert shell("read", redirection, tmp_path) == (0, "5 ± 2\nprinted\n", "")
    assert (tmp_path / "file").read_text() == "True"
    # With an error there is nothing left to say.
    assert shell("read", f">&- {redirection}", tmp_path) == (1, "", "")
    assert shell("outlast", f">&- {redirection}", tmp_path) == (0, "", "")


@pytest.mark.parametrize(
    "environment", ["PYTHONIOENCODING=ascii", "LC_ALL=C PYTHONCOERCECLOCALE=0 PYTHONUTF8=0"]
)
def test_output_without_unicode(environment, tmp_path):
    out = "5 \\xb1 2\nprinted\n"
    assert shell("read", "", tmp_path, environment) == (0, out, "went on\n")


def shell(what, redirection, folder, environment="PYTHONIOENCODING=utf-8"):
    """Returns (exit code, stdout, stderr) of the program with redirected streams."""
    command = f'{environment} exec "$0" -c "$1" --what={what} {redirection}'
    done = subprocess.run(
        ["bash", "-c", command, sys.executable, SCRIPT],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": commands.ROOT},
        capture_output=True,
        check=False,
        text=True,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("name", "value", "right"),
    [("KERAS_BACKEND", "torch", "tensorflow"), ("TF_USE_LEGACY_KERAS", "1", "0")],
)
def test_another_keras_is_refused(name, value, right):
    error = f"error: {name}={value}: expected {name}={right}, or none. Unset it.\n"
    assert run("--what=tensorflow", **{name: value}) == (1, "", error)


def test_freed_memory_is_used_again():
    # Only the first of four blocks faults its pages in.
    assert run("--what=memory") == (0, "True\n", "")


def test_settings_of_keras_change_nothing(tmp_path):
    (tmp_path / "keras.json").write_text('{"floatx": "float16", "backend": "torch"}')
    home = {"KERAS_HOME": str(tmp_path)}
    assert run("--what=tensorflow", **home) == (0, "tensorflow float32\n", "")
    assert run("--what=tensorflow", KERAS_BACKEND="", **home) == (0, "tensorflow float32\n", "")
    (tmp_path / "keras.json").write_text('{"floatx": "float7"}')
    code, _, error = run("--what=tensorflow", **home)
    assert (code, error.count("\n")) == (1, 1)
    assert "Received: floatx=float7" in error
