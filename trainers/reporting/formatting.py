"""Formats of figures, durations and names."""

import resource
from collections import Counter
from collections.abc import Mapping, Sequence

from quatre_tf.ranking.results import AMRI, METRICS

TITLES = {
    **{name: metric.title for name, metric in METRICS.items()},
    AMRI: "AMRI",
    "parameters": "parameters",
    "floats_per_entity": "floats per entity",
    "minutes": "minutes",
    "accuracy": "accuracy",
    "f1": "F1",
    "precision": "precision",
    "recall": "recall",
    "roc_auc": "ROC AUC",
    "average_precision": "average precision",
}
# Of charts, and of the metric that chooses the best weights.
LONG_TITLES = {"mrr": "MRR", "hits@10": "Hits@10"}
SIDE_TITLES = {"both": "heads and tails", "head": "heads", "tail": "tails"}
_DECIMALS = {"mr": 1, "parameters": 0, "floats_per_entity": 0, "minutes": 1}
_ELLIPSIS = "…"


def metric_line(metrics: Mapping[str, float]) -> str:
    """Returns the metrics in one line: `MRR 0.479  H@1 0.429 ...`."""
    return "  ".join(f"{TITLES[name]} {metric_cell(name, metrics[name])}" for name in METRICS)


def metric_cell(metric: str, value: float, sign: str = "") -> str:
    """Returns a figure as the cell of a table; `sign="+"` shows the sign of positive ones too."""
    decimals = _DECIMALS.get(metric, 4)
    return f"{value:{sign},.{decimals}f}"


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


def shorten(names: Sequence[str], limit: int = 38) -> dict[str, str]:
    """Returns short forms of distinct names, of about `limit` characters, that are distinct too.

    Of a path (`/people/person/nationality`, as in Freebase) the last parts are kept. Where two
    short forms would be the same, the start and the end are kept; failing that a number is added.
    """
    rows = [(_last_parts(name, limit), _both_ends(name, limit)) for name in names]
    counts = [Counter(column) for column in zip(*rows, strict=True)]
    return {
        name: next(
            (form for form, count in zip(row, counts, strict=True) if count[form] == 1),
            f"{row[-1]} #{number}",
        )
        for number, (name, row) in enumerate(zip(names, rows, strict=True), start=1)
    }


def _last_parts(name: str, limit: int) -> str:
    parts = name.split("/")
    tails = (f"{_ELLIPSIS}/{'/'.join(parts[start:])}" for start in range(1, len(parts)))
    fitting = (tail for tail in (name, *tails) if len(tail) <= limit)
    return next(fitting, _both_ends(name, limit))


def _both_ends(name: str, limit: int) -> str:
    if len(name) <= limit:
        return name
    front = (limit - 1) // 2
    return f"{name[:front]}{_ELLIPSIS}{name[front + 1 - limit :]}"
