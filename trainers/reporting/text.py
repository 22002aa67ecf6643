"""Text that people read: tables and lines of figures."""

import resource
from collections.abc import Mapping, Sequence
from typing import Any

from datasets.text_table import table

METRICS = ("mr", "mrr", "hits@1", "hits@3", "hits@10")
TITLES = {"mr": "MR", "mrr": "MRR", "hits@1": "H@1", "hits@3": "H@3", "hits@10": "H@10"}
SIDE_TITLES = {"both": "heads and tails", "head": "heads", "tail": "tails"}


def metric_line(metrics: Mapping[str, float]) -> str:
    """Returns the five figures in one line: `MRR 0.479  H@1 0.429 ...`."""
    return "  ".join(f"{TITLES[name]} {_format(name, metrics[name])}" for name in METRICS)


def evaluation_table(result: Mapping[str, Any]) -> str:
    """Returns the table of an evaluation: a row for both sides, heads and tails."""
    title = (
        f"Filtered ranking, {result['split']} split: {result['num_triples']:,} triples, all "
        f"entities as candidates, {result['tie_policy']} ties"
    )
    sides = result["candidates"]["all"]
    header = ["", *(TITLES[name] for name in METRICS)]
    rows = [[label, *metric_cells(sides[side])] for side, label in SIDE_TITLES.items()]
    return f"{title}\n{table([header, *rows])}"


def metric_cells(metrics: Mapping[str, float], names: Sequence[str] = METRICS) -> list[str]:
    """Returns figures as the cells of a row."""
    return [_format(name, metrics[name]) for name in names]


def peak_memory() -> str:
    """Returns a line with the peak resident memory of this process so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return f"Peak memory: {peak:,.0f} MiB"


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
