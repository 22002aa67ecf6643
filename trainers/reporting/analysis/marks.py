"""Bars and points with intervals, grouped by run: the marks that the pictures are made of."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from trainers.reporting.analysis import style

# Share of the place between two ticks that the bars of a group take.
_GROUP = 0.8
_POINT_GAP = 0.3
_BAR_STYLE: dict[str, Any] = {"edgecolor": "white", "linewidth": 0.5}
_INTERVAL_STYLE: dict[str, Any] = {"color": "black", "linewidth": 0.9}


def bars(
    axis: Axes, values: Mapping[str, np.ndarray], ticks: Sequence[str], *, horizontal: bool = False
) -> None:
    """Draws a group of bars with intervals per tick, a colour per run.

    Args:
        axis: Where to.
        values: By run, [ticks, 3]: value, low and high end.
        ticks: Labels of the groups.
        horizontal: Bars to the right, the first group on top.
    """
    size = _GROUP / len(values)
    draw = _draw_to_the_right if horizontal else _draw_upwards
    for offset, colour, rows in zip(
        _offsets(len(values), size), style.PALETTE, values.values(), strict=False
    ):
        draw(axis, np.arange(len(ticks)) + offset, rows, size, colour)
    if horizontal:
        axis.set_yticks(range(len(ticks)), ticks)
        axis.set_ylim(len(ticks) - 0.5, -0.5)
    else:
        axis.set_xticks(range(len(ticks)), ticks)
    axis.grid(True, axis="x" if horizontal else "y")
    axis.tick_params(axis="y" if horizontal else "x", length=0)


def points(axis: Axes, values: Mapping[str, np.ndarray]) -> None:
    """Draws a row of points with intervals for each run, the first row on top.

    Args:
        axis: Where to.
        values: By run, [rows, 3]: value, low and high end; rows of NaN stay empty.
    """
    for offset, colour, rows in zip(
        _offsets(len(values), _POINT_GAP), style.PALETTE, values.values(), strict=False
    ):
        value, low, high = rows.T
        places = np.arange(len(rows)) + offset
        axis.hlines(places, low, high, color=colour, linewidth=1.4)
        axis.plot(value, places, "o", color=colour, markersize=4.5)
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.grid(True, axis="x")
    axis.tick_params(axis="y", length=0)


def legend(figure: Figure, runs: Sequence[str]) -> None:
    """Names the colours, when there is more than one."""
    if len(runs) > 1:
        handles = [Patch(color=colour) for colour, _ in zip(style.PALETTE, runs, strict=False)]
        style.legend_above(figure, handles, [style.plain(run) for run in runs])


def _draw_upwards(
    axis: Axes, places: np.ndarray, rows: np.ndarray, size: float, colour: str
) -> None:
    value, low, high = rows.T
    axis.bar(places, value, size, color=colour, **_BAR_STYLE)
    axis.vlines(places, low, high, **_INTERVAL_STYLE)


def _draw_to_the_right(
    axis: Axes, places: np.ndarray, rows: np.ndarray, size: float, colour: str
) -> None:
    value, low, high = rows.T
    axis.barh(places, value, size, color=colour, **_BAR_STYLE)
    axis.hlines(places, low, high, **_INTERVAL_STYLE)


def _offsets(count: int, gap: float) -> np.ndarray:
    return (np.arange(count) - (count - 1) / 2) * gap
