"""Tables of figures as text, Markdown, HTML and CSV."""

import csv
import html
import itertools
import pathlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from datasets.text_table import csv_cell
from datasets.text_table import table as text_table
from quatre_tf.atomic_files import whole_file


class Table(NamedTuple):
    """A table of cells.

    Attributes:
        title: What it shows.
        header: The titles of the columns; the first one is usually empty.
        rows: A row with a single cell is a heading of the rows below it. The lines of a cell after
            its first are details, such as an interval.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


def as_text(table: Table) -> str:
    """Returns the title, and the rows in aligned columns below it."""
    if not table.rows:
        return table.title
    first, *others = table.rows
    # A blank line above each heading but the first.
    others = [[f"\n{row[0]}"] if len(row) == 1 else row for row in others]
    lines = [line for row in (table.header, first, *others) for line in _lines(row)]
    full = iter(text_table([line for line in lines if len(line) > 1]).split("\n"))
    body = [line[0] if len(line) == 1 else next(full) for line in lines]
    return "\n".join([table.title, *body] if table.title else body)


def as_markdown(table: Table) -> str:
    """Returns the title, and a table as GitHub and TensorBoard show it; without headings."""
    lines = [table.header, ["---"] * len(table.header)]
    lines += [row for row in table.rows if len(row) > 1]
    rows = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{table.title}\n\n{rows}" if table.title else rows


def as_html(table: Table) -> str:
    """Returns a `figure` with the title as its caption; details are in `small`."""
    head = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in table.header)
    body = "\n".join(_html_row(row, len(table.header)) for row in table.rows)
    return (
        f"<figure>\n<figcaption>{html.escape(table.title)}</figcaption>\n"
        f'<div class="scroll"><table>\n<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody>\n</table></div>\n</figure>\n"
    )


def write_csv(path: pathlib.Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Writes rows to a CSV file; a column that a row does not have stays empty."""
    rows = list(rows)
    columns = list(dict.fromkeys(column for row in rows for column in row))
    with whole_file(path) as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: csv_cell(cell) for name, cell in row.items()} for row in rows)


def _lines(row: Sequence[str]) -> list[list[str]]:
    """Returns the first lines of all cells, then the second ones, ..."""
    cells = (cell.split("\n") for cell in row)
    return [list(line) for line in itertools.zip_longest(*cells, fillvalue="")]


def _html_row(cells: Sequence[str], columns: int) -> str:
    name, *rest = map(_html_cell, cells)
    if not rest:
        span = f'scope="rowgroup" colspan="{columns}"'
        return f'<tr class="group"><th {span}><div>{name}</div></th></tr>'
    return f'<tr><th scope="row">{name}</th>{"".join(f"<td>{cell}</td>" for cell in rest)}</tr>'


def _html_cell(text: str) -> str:
    first, *details = map(html.escape, text.split("\n"))
    return first + "".join(f"<small>{line}</small>" for line in details)
