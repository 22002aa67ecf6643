"""Answers as text: a table for people, JSON or CSV for programs."""

import contextlib
import csv
import dataclasses
import io
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, Any

from datasets.text_table import csv_cell, table
from quatre_tf.atomic_files import output_file
from quatre_tf.paths import printable

FORMATS = ("table", "json", "csv")
# How a table shows numbers; programs get every digit.
_NUMBERS = {"score": ".3f", "probability": ".4f"}
_BECAUSE = "because"


@dataclasses.dataclass(frozen=True)
class Block:
    """Rows that belong together, for example the answers to one question.

    Attributes:
        title: The line above its table; "" for none.
        same: Cells that all rows begin with in JSON and CSV; a table does not repeat them.
        rows: The further cells of each row; `because`, if there, has a dictionary for each fact.
    """

    title: str
    same: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]


@dataclasses.dataclass(frozen=True)
class Report:
    """What a program has to say.

    Attributes:
        columns: The names of all cells, in order: the header of CSV.
        blocks: The rest; may be computed as it is written.
        note: The first lines of the text for people; "" for none.
    """

    columns: Sequence[str]
    blocks: Iterable[Block]
    note: str = ""


def write(report: Report, form: str, output: str | None = None) -> None:
    """Writes the blocks of a report one after the other, as they come.

    Args:
        report: What to write.
        form: One of `FORMATS`.
        output: The file, which appears complete or not at all; None: standard output.

    Raises:
        DataError: The file cannot be written.
    """
    if output is None and form != "table" and isinstance(sys.stdout, io.TextIOWrapper):
        # Programs read it, and an escaped name would be another one.
        sys.stdout.reconfigure(encoding="utf-8")
    writer = {"table": _write_tables, "json": _write_json, "csv": _write_csv}[form]
    opened = contextlib.nullcontext(sys.stdout) if output is None else output_file(output)
    with opened as stream:
        writer(report, stream)


def as_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Returns rows as text; columns without content are left out.

    What is in `because` stands in lines of its own below its row.
    """
    names = [name for name in rows[0] if name != _BECAUSE]
    titles = [name.replace("_", " ") for name in names]
    cells = [titles, *([_shown(name, row[name]) for name in names] for row in rows)]
    columns = [column for column in zip(*cells, strict=True) if any(column[1:])]
    header, *lines = table(list(zip(*columns, strict=True))).splitlines()
    reasons = (map(_reason, row.get(_BECAUSE, ())) for row in rows)
    body = ("\n".join([line, *why]) for line, why in zip(lines, reasons, strict=True))
    return "\n".join([header, *body])


def _write_tables(report: Report, stream: IO[str]) -> None:
    if report.note:
        stream.write(f"{report.note}\n\n")
    for number, block in enumerate(report.blocks):
        above = "\n" if number else ""
        title = f"{printable(block.title)}\n" if block.title else ""
        text = as_table(block.rows) if block.rows else "No candidates are left."
        stream.write(f"{above}{title}{text}\n")


def _write_json(report: Report, stream: IO[str]) -> None:
    separator = "[\n"
    for row in _whole_rows(report):
        stream.write(separator + json.dumps(row, ensure_ascii=False, allow_nan=False))
        separator = ",\n"
    stream.write("[]\n" if separator == "[\n" else "\n]\n")


def _write_csv(report: Report, stream: IO[str]) -> None:
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(report.columns)
    for row in _whole_rows(report):
        if _BECAUSE in row:
            row[_BECAUSE] = json.dumps(row[_BECAUSE], ensure_ascii=False)
        writer.writerow(map(csv_cell, row.values()))


def _whole_rows(report: Report) -> Iterator[dict[str, Any]]:
    for block in report.blocks:
        for row in block.rows:
            cells = {**block.same, **row}
            yield {name: cells[name] for name in report.columns}


def _shown(name: str, value: Any) -> str:
    return "" if value is None else format(value, _NUMBERS.get(name, ""))


def _reason(fact: Mapping[str, Any]) -> str:
    head, tail = (_labelled(fact[end], fact[f"{end}_label"]) for end in ("head", "tail"))
    like = printable(f"({head}, {fact['relation']}, {tail})")
    closeness = f"answer {fact['answer_similarity']:.2f}, given {fact['given_similarity']:.2f}"
    return f"    like {like}: {closeness}"


def _labelled(name: str, label: str | None) -> str:
    return f"{name} {label}" if label else name
