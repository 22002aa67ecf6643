"""Questions (head, relation, ?) and (?, relation, tail), one from flags or many from a file."""

import csv
import dataclasses
import pathlib
from collections.abc import Callable, Sequence

from datasets.readers.text_files import decoded, read_bytes, without_mark
from datasets.readers.text_format import numbered_rows
from datasets.triples import COLUMNS
from quatre_tf.data.graph import Graph
from quatre_tf.errors import DataError

# What is written for the entity that is asked for; nothing if the other entity is called so.
ASKED = "?"
_MAX_PROBLEMS = 10


@dataclasses.dataclass(frozen=True)
class Question:
    """What a relation and one entity leave open.

    Attributes:
        relation: Name of the relation.
        given: Name of the entity that is given.
        asked: `"tail"` or `"head"`: the place that is asked for.
    """

    relation: str
    given: str
    asked: str

    @property
    def fields(self) -> tuple[str, str, str]:
        """Head, relation and tail, with "?", or "" where an entity is called "?", as the answer."""
        open_end = "" if self.given == ASKED else ASKED
        if self.asked == "tail":
            return self.given, self.relation, open_end
        return open_end, self.relation, self.given


def make_question(graph: Graph, head: str, relation: str, tail: str) -> Question:
    """Returns the question of three names or labels; one of head and tail is "?" or "".

    With "", the other one may be an entity called "?".

    Raises:
        DataError: Neither or both are, or a name is unknown or may mean several.
    """
    asked, given = open_end(head, tail)
    return Question(graph.relation_lookup.name(relation), graph.entity_lookup.name(given), asked)


def make_questions(
    lines: Sequence[tuple[str, list[str]]], make: Callable[[str, str, str], Question]
) -> list[Question]:
    """Returns the questions of a file.

    Args:
        lines: As of `read_lines`.
        make: Makes a question of head, relation and tail.

    Raises:
        DataError: `FILE:LINE: ...` for each of the first lines that cannot be asked.
    """
    found, problems = [], []
    for where, fields in lines:
        try:
            found.append(make(*three_fields(fields)))
        except DataError as error:
            problems.append(f"{where}: {error}")
        if len(problems) > _MAX_PROBLEMS:
            break
    if problems:
        raise DataError(_joined(problems))
    return found


def open_end(head: str, tail: str) -> tuple[str, str]:
    """Returns the end to predict, `"head"` or `"tail"`, and the name at the other end.

    Raises:
        DataError: Neither or both ends are "?" or "".
    """
    left_open = "" if "" in (head, tail) else ASKED
    if (head == left_open) == (tail == left_open):
        raise DataError(
            f"expected '{ASKED}' in the place of either head or tail, received {head!r} and "
            f"{tail!r}. Write '{ASKED}' for the answer; if an entity is called '{ASKED}', "
            "write nothing."
        )
    return ("tail", head) if tail == left_open else ("head", tail)


def read_lines(path: str | pathlib.Path) -> list[tuple[str, list[str]]]:
    """Reads the fields of a file of questions, without a look at what they say.

    Args:
        path: UTF-8, a question a line and no header, head, relation and tail separated by TABs; by
            commas with the quotes of CSV where the name ends in .csv. Either with a further .gz.
            Empty lines are skipped.

    Returns:
        `(FILE:LINE, fields)` of each line.

    Raises:
        DataError: The file cannot be read, is empty, or is not UTF-8 text.
    """
    path = pathlib.Path(path)
    text = decoded(without_mark(read_bytes(path)), str(path))
    delimiter = "," if path.name.lower().removesuffix(".gz").endswith(".csv") else "\t"
    try:
        rows = list(numbered_rows(text, delimiter, strict=True))
    except csv.Error as error:
        raise DataError(f"{path}: expected CSV, received {error}. Mend its quotes.") from error
    if not rows:
        raise DataError(
            f"{path}: expected questions, received an empty file. Write one a line: head, relation "
            f"and '{ASKED}', or '{ASKED}', relation and tail."
        )
    return [(f"{path}:{number}", fields) for number, fields in rows]


def three_fields(fields: list[str]) -> tuple[str, str, str]:
    """Returns head, relation and tail; raises DataError for other fields."""
    if len(fields) != len(COLUMNS) or not fields[1]:
        raise DataError(
            f"expected three fields ({', '.join(COLUMNS)}), received {len(fields)}: {fields}. "
            f"Write one question a line, with '{ASKED}' for what is asked for."
        )
    return fields[0], fields[1], fields[2]


def _joined(problems: list[str]) -> str:
    if len(problems) == 1:
        return problems[0]
    title = f"{len(problems)} lines cannot be asked."
    if len(problems) > _MAX_PROBLEMS:
        title = f"The first {_MAX_PROBLEMS} lines that cannot be asked:"
    return "\n  ".join([title, *problems[:_MAX_PROBLEMS]])
