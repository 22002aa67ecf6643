"""Tables for the screen."""

from collections.abc import Sequence


def table(rows: Sequence[Sequence[str]]) -> str:
    """Returns rows in aligned columns, the first to the left, the others to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
