"""Text tables, and cells of CSV files."""

from collections.abc import Sequence
from typing import Any

from quatre_tf.paths import printable

_MAX_CELL = 100
# What spreadsheets take for the start of a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_cell(value: Any) -> Any:
    """Returns a cell for CSV: text that a spreadsheet would compute begins with an apostrophe."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def table(rows: Sequence[Sequence[str]]) -> str:
    """Returns rows in aligned columns, the first to the left, the others to the right.

    Cells are escaped and shortened by `quatre_tf.paths.printable`, so a row is a line.
    """
    rows = [[printable(cell, _MAX_CELL) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
