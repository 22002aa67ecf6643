"""Text that people read: tables and lines of figures."""

from collections.abc import Mapping, Sequence
from typing import Any

METRICS = ("mr", "mrr", "hits@1", "hits@3", "hits@10")
_TITLES = {"mr": "MR", "mrr": "MRR", "hits@1": "H@1", "hits@3": "H@3", "hits@10": "H@10"}


def metric_line(metrics: Mapping[str, float]) -> str:
    """Returns the five figures in one line: `MRR 0.479  H@1 0.429 ...`."""
    return "  ".join(f"{_TITLES[name]} {_format(name, metrics[name])}" for name in METRICS)


def evaluation_table(result: Mapping[str, Any]) -> str:
    """Returns the table of an evaluation: a row for both sides, heads and tails."""
    title = (
        f"Filtered ranking, {result['split']} split: {result['num_triples']:,} triples, all "
        f"entities as candidates, {result['tie_policy']} ties"
    )
    sides = result["candidates"]["all"]
    names = {"both": "heads and tails", "head": "heads", "tail": "tails"}
    header = ["", *(_TITLES[name] for name in METRICS)]
    rows = [
        [label, *(_format(m, sides[side][m]) for m in METRICS)] for side, label in names.items()
    ]
    return f"{title}\n{table([header, *rows])}"


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


def duration(seconds: float) -> str:
    """Returns `1 h 02 min`, `3 min 05 s` or `12.3 s`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def _format(name: str, value: float) -> str:
    return f"{value:,.1f}" if name == "mr" else f"{value:.4f}"
