"""What all programs share, tried on one that starts fast."""

import pytest

from tests import commands

SCRIPT = """
import sys
from absl import flags
from quatre_tf.errors import DataError
from datasets.program import place_in_help, run_program
_WHAT = flags.DEFINE_string("what", "", "What to do.")
flags.DEFINE_integer("petals", 5, "Petals of a flower.", lower_bound=3)
flags.DEFINE_bool("thorns", False, "Whether it stings.")
place_in_help("petals", "flower")
place_in_help("thorns", "flower", is_basic=False)

def main(argv):
    if _WHAT.value == "mistake":
        raise DataError("Expected a flower, received a stone.")
    if _WHAT.value == "defect":
        raise KeyError("oops")
    if _WHAT.value == "interrupt":
        raise KeyboardInterrupt
    for number in range(100_000):
        print(number)

run_program(main)
"""


def run(*arguments):
    return commands.launch("-c", SCRIPT, *arguments)


@pytest.mark.parametrize("flag", ["--help", "-?", "--helpshort", "--helpfull"])
def test_asking_for_help_is_no_error(flag):
    code, out, err = run(flag)
    assert (code, err) == (0, "")
    assert "--what: What to do." in out


def test_help_has_headings_and_two_pages():
    _, out, _ = run("--help")
    assert out == (
        "  --what: What to do.\n\n"
        "flower:\n  --petals: Petals of a flower. (default: '5')\n\n"
        "All 6 flags: --help_all\n"
    )
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
