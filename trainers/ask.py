"""Answers questions at a prompt; the run is loaded once.

Usage: quatre ask --run_dir=runs/countries

A question is head, relation and tail, separated by commas or TABs, with ? for the answer:
Egypt, official_language, ?
An empty line or Ctrl-D ends the program.
"""

import csv
import importlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from absl import flags

from datasets.program import import_tensorflow, run_program
from quatre_tf.errors import DataError
from trainers.prediction.formats import write
from trainers.prediction.questions import ASKED, QuestionReader

if TYPE_CHECKING:
    from quatre_tf.runs.run import Run
    from trainers.prediction.predicting import Options

_RUN_DIR = flags.DEFINE_string("run_dir", None, "A run of `quatre fit`.", required=True)
_TOP_K = flags.DEFINE_integer("top_k", 5, "How many answers.", 1, 2**31 - 1)
_INCLUDE_KNOWN = flags.DEFINE_bool("include_known", False, "Also show facts of the data set.")


def main(argv: Sequence[str]) -> None:
    """Translates the flags; see `converse`."""
    del argv
    import_tensorflow()
    from quatre_tf.runs.run import load_run
    from trainers.prediction.predicting import Options

    options = Options(_TOP_K.value, _INCLUDE_KNOWN.value)
    converse(load_run(_RUN_DIR.value), options, _typed_lines())


def converse(run: "Run", options: "Options", lines: Iterable[str]) -> None:
    """Prints the answers to each line, up to the first empty one.

    Args:
        run: The run.
        options: What to answer.
        lines: A question each.
    """
    from trainers.prediction.predicting import Predictor
    from trainers.prediction.reports import report_answers

    reader, predictor = QuestionReader(run.graph), Predictor(run, options)
    for line in lines:
        if not line.strip():
            break
        try:
            question = reader.question(*_fields(line))
            report = report_answers(run, [question], options, titles=False, predictor=predictor)
            write(report, "table")
        except DataError as error:
            print(f"error: {error}")


def _fields(line: str) -> list[str]:
    delimiter = "\t" if "\t" in line else ","
    fields = [field.strip() for field in next(csv.reader([line], delimiter=delimiter))]
    if len(fields) != 3:
        raise DataError(
            f"Expected head, relation and tail with {ASKED!r} for the answer. Received: {line!r}."
        )
    return fields


def _typed_lines() -> Iterator[str]:
    """Reads standard input; a person gets a prompt and a history."""
    if sys.stdin.isatty():
        # `input` uses it once it is imported.
        importlib.import_module("readline")
    try:
        while True:
            yield input("head, relation, tail> " if sys.stdin.isatty() else "")
    except EOFError:
        return


if __name__ == "__main__":
    run_program(main)
