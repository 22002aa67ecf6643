"""The picture of probabilities: do they come true, and how sure are they."""

import pathlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from saved_models.reliability import reliability_bins
from trainers.reporting.analysis import style

# By the name of the probabilities; the first is drawn behind.
Probabilities = Mapping[str, np.ndarray]
_DIAGONAL_STYLE: dict[str, Any] = {"color": style.NEUTRAL, "linewidth": 0.7, "linestyle": ":"}
_CURVE_STYLES: tuple[dict[str, Any], ...] = (
    {"color": style.PALETTE[1], "marker": "o", "fillstyle": "none", "linestyle": "--"},
    {"color": style.PALETTE[0], "marker": "o"},
)
_KINDS = {"positives": style.PALETTE[2], "negatives": style.PALETTE[3]}
_EDGES = np.linspace(0, 1, 21)
_ROW_HEIGHT = 2.9


def draw_reliability(runs: Mapping[str, Probabilities], path: pathlib.Path) -> None:
    """Draws a row per run: a reliability diagram, and how the last probabilities are spread.

    Args:
        runs: By run and name, probabilities `[n, 1 + k]` as in `saved_models.reliability`.
        path: The PNG file.
    """
    height = 0.4 + _ROW_HEIGHT * len(runs)
    with style.picture(path, height, rows=len(runs), columns=2) as (figure, grid):
        for (diagram, spread), (run, named) in zip(grid, runs.items(), strict=True):
            _draw_diagram(diagram, named)
            *_, last = named.values()
            _draw_spread(spread, last)
            if len(runs) > 1:
                diagram.set_title(style.plain(run), loc="left")
        (curves, names), (areas, kinds) = (axis.get_legend_handles_labels() for axis in grid[0])
        style.legend_above(figure, curves + areas, names + kinds)


def _draw_diagram(axis: Axes, named: Probabilities) -> None:
    axis.plot([0, 1], [0, 1], **_DIAGONAL_STYLE)
    for (name, probabilities), look in zip(named.items(), _CURVE_STYLES, strict=True):
        _, predicted, observed = reliability_bins(probabilities).T
        axis.plot(predicted, observed, label=name, markersize=4, clip_on=False, **look)
    axis.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    axis.set(xlabel="Mean probability", ylabel="Share of positives")
    axis.grid(True)


def _draw_spread(axis: Axes, probabilities: np.ndarray) -> None:
    values = probabilities[:, 0], probabilities[:, 1:].reshape(-1)
    for (kind, colour), of in zip(_KINDS.items(), values, strict=True):
        shares = np.histogram(of, _EDGES)[0] / of.size
        axis.stairs(shares, _EDGES, color=colour, fill=True, alpha=0.5, label=kind)
    axis.set(xlim=(0, 1), ylim=(0, None))
    axis.set(xlabel="Calibrated probability", ylabel="Share of each kind")
    axis.grid(True, axis="y")
