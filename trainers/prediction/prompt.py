"""The prompt of `quatre ask`."""

import csv
import importlib
import io
import sys
from collections.abc import Iterable, Iterator

from quatre_tf.errors import DataError
from quatre_tf.paths import printable
from quatre_tf.runs.run import Run
from trainers.prediction.formats import write
from trainers.prediction.predicting import Options, Predictor
from trainers.prediction.questions import make_question, three_fields
from trainers.prediction.reports import report_answers


def converse(run: Run, options: Options, lines: Iterable[str]) -> None:
    """Prints the answers to each line, up to the first empty one.

    Args:
        run: The run.
        options: What to answer.
        lines: A question each.
    """
    predictor = Predictor(run, options)
    for line in lines:
        if not line.strip():
            break
        try:
            question = make_question(run.graph, *three_fields(_fields(line)))
            write(report_answers(predictor, [question], titles=False), "table")
        except DataError as error:
            print(f"error: {printable(str(error))}")


def _fields(line: str) -> list[str]:
    # Between TABs, quotes are plain characters, as in files.
    fields = line.split("\t") if "\t" in line else next(csv.reader([line], skipinitialspace=True))
    return [field.strip() for field in fields]


def typed_lines() -> Iterator[str]:
    """Reads standard input; a person gets a prompt and a history."""
    if sys.stdin.isatty():
        # `input` uses it once it is imported.
        importlib.import_module("readline")
    elif isinstance(sys.stdin, io.TextIOWrapper):
        # No name has such bytes: the answer says so.
        sys.stdin.reconfigure(errors="replace")
    try:
        while True:
            yield input("head, relation, tail> " if sys.stdin.isatty() else "")
    except EOFError:
        return
