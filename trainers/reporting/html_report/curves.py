"""Learning curves: loss and validation over the epochs."""

import pathlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from trainers.reporting.formatting import LONG_TITLES
from trainers.reporting.html_report import pictures
from trainers.reporting.runs import ReportedRun
from trainers.reporting.training_log import SAMPLE, TRAIN, VALID, series

_SAMPLE_STYLE: dict[str, Any] = {"linestyle": "", "marker": "o", "markersize": 3.5, "alpha": 0.6}
_BEST_STYLE: dict[str, Any] = {
    "linestyle": "",
    "marker": "*",
    "markersize": 10,
    "markeredgecolor": "white",
    "markeredgewidth": 0.7,
    "zorder": 3,
}
_MAX_MARKERS = 40
_STEPS = (1, 2, 2.5, 5, 10)


def draw_curves(runs: Mapping[str, ReportedRun], path: pathlib.Path) -> None:
    """Draws training loss, validation MRR and validation Hits@10; a color per run.

    Args:
        runs: Runs with records, by their names.
        path: The PNG file.
    """
    with pictures.picture(path, height=2.5, columns=3) as (figure, grid):
        axes = grid[0]
        for color, run in zip(pictures.PALETTE, runs.values(), strict=False):
            _draw_loss(axes[0], run, color)
            for axis, metric in zip(axes[1:], LONG_TITLES, strict=True):
                _draw_validation(axis, run, metric, color)
        titles = ["Training loss", *(f"Validation {metric}" for metric in LONG_TITLES.values())]
        for axis, title in zip(axes, titles, strict=True):
            _label(axis, title)
        axes[0].set_ylabel("Loss per triple")
        pictures.legend_above(figure, *_legend(runs))


def _label(axis: Axes, title: str) -> None:
    axis.set_title(title)
    axis.set_xlabel("Epoch")
    axis.set_xlim(left=0)
    axis.xaxis.set_major_locator(MaxNLocator(4, steps=_STEPS))
    axis.grid(True)
    if not any(np.size(line.get_xdata()) for line in axis.lines):
        axis.text(0.5, 0.5, "none yet", transform=axis.transAxes, ha="center")


def _draw_loss(axis: Axes, run: ReportedRun, color: str) -> None:
    epochs, losses = series(run.records, TRAIN, "loss")
    axis.plot(epochs, losses, color=color, linewidth=1)
    # Most of the way down happens in the first epochs; the rest would be a line along the axis.
    axis.set_yscale("log")
    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.yaxis.set_minor_formatter(NullFormatter())


def _draw_validation(axis: Axes, run: ReportedRun, metric: str, color: str) -> None:
    axis.plot(*series(run.records, SAMPLE, metric), color=color, fillstyle="none", **_SAMPLE_STYLE)
    epochs, values = series(run.records, VALID, metric)
    # Markers show how often was validated; many of them would be a thick line.
    marker = "o" if len(epochs) <= _MAX_MARKERS else ""
    axis.plot(epochs, values, color=color, marker=marker, markersize=3)
    if run.best is not None:
        axis.plot(run.best["epoch"], run.best[metric], color=color, **_BEST_STYLE)
    axis.yaxis.set_major_locator(MaxNLocator(5, steps=_STEPS))


def _legend(runs: Mapping[str, ReportedRun]) -> tuple[list[Line2D], list[str]]:
    handles = [
        Line2D([], [], color=color) for color, _ in zip(pictures.PALETTE, runs, strict=False)
    ]
    labels = [pictures.plain(name) for name in runs]
    if any(r["group"] == SAMPLE for run in runs.values() for r in run.records):
        handles.append(Line2D([], [], color=pictures.NEUTRAL, fillstyle="none", **_SAMPLE_STYLE))
        labels.append("sample of validation")
    if any(run.best for run in runs.values()):
        handles.append(Line2D([], [], color=pictures.NEUTRAL, **_BEST_STYLE))
        labels.append("best weights")
    return handles, labels
