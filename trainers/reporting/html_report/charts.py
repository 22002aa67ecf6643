"""Charts of metrics: points with their intervals, a color per run."""

import math
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from quatre_tf.ranking.results import Results
from trainers.reporting.formatting import LONG_TITLES
from trainers.reporting.html_report import pictures

# Vertical distance between the points of two runs; rows are 1 apart.
_GAP = 0.3


def draw_metrics(
    results: Results,
    rows: Sequence[tuple[str, Mapping[str, Any] | None]],
    path: pathlib.Path,
    metrics: Sequence[str] = tuple(LONG_TITLES),
) -> None:
    """Draws metrics with their intervals, an axis per metric.

    Args:
        results: The results; each run has its color.
        rows: From top to bottom, the label of a row and the arguments of `Results.find` that make
            it; None makes the label a heading.
        path: The PNG file.
        metrics: The metrics.
    """
    runs = results.runs
    height = 0.8 + len(rows) * (0.19 if len(runs) == 1 else 0.24)
    offsets = (np.arange(len(runs)) - (len(runs) - 1) / 2) * _GAP
    with pictures.picture(path, height, columns=len(metrics)) as (figure, grid):
        for axis, metric in zip(grid[0], metrics, strict=True):
            for run, offset, color in zip(runs, offsets, pictures.PALETTE, strict=False):
                _draw_points(axis, _values(results, rows, metric, run), offset, color)
            axis.set_xlabel(LONG_TITLES[metric])
            axis.set_ylim(len(rows) - 0.4, -0.6)
            axis.set_yticks(range(len(rows)), [""] * len(rows))
            axis.tick_params(axis="y", length=0)
            axis.grid(True, axis="x")
        labels = [pictures.plain(label) for label, _ in rows]
        grid[0, 0].set_yticks(range(len(rows)), labels)
        for (_, place), text in zip(rows, grid[0, 0].get_yticklabels(), strict=True):
            text.set_fontweight("bold" if place is None else "normal")
        if len(runs) > 1:
            handles = [Patch(color=c) for c, _ in zip(pictures.PALETTE, runs, strict=False)]
            pictures.legend_above(figure, handles, [pictures.plain(run) for run in runs])


def _values(
    results: Results, rows: Sequence[tuple[str, Mapping[str, Any] | None]], metric: str, run: str
) -> np.ndarray:
    """Returns value, low and high end: `[rows, 3]`; NaN where there is no figure."""
    found = [None if place is None else results.find(metric, run=run, **place) for _, place in rows]
    missing = (math.nan, math.nan, math.nan)
    return np.array([missing if row is None else (row.value, row.low, row.high) for row in found])


def _draw_points(axis: Axes, values: np.ndarray, offset: float, color: str) -> None:
    value, low, high = values.T
    places = np.arange(len(values)) + offset
    axis.hlines(places, low, high, color=color, linewidth=1.4)
    axis.plot(value, places, "o", color=color, markersize=4.5)
