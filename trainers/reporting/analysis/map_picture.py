"""The picture of a map of entities."""

import pathlib
from typing import Any

import numpy as np

from trainers.reporting.analysis import style
from trainers.reporting.analysis.embedding_map import EmbeddingMap
from trainers.reporting.analysis.names import shorten

_POINT_STYLE: dict[str, Any] = {"s": 10, "alpha": 0.7, "linewidths": 0.6}


def draw_map(layout: EmbeddingMap, path: pathlib.Path) -> None:
    """Draws a map; colour and marker tell the groups apart."""
    names = [*shorten(layout.relations).values(), layout.group_names[-1]]
    colours = [*style.PALETTE[: len(layout.relations)], style.NEUTRAL]
    markers = [*style.MARKERS[: len(layout.relations)], "x"]
    with style.picture(path, height=5.2, width=5.2) as (figure, grid):
        axis, handles, labels = grid[0, 0], [], []
        for group in np.unique(layout.groups):
            points = layout.positions[layout.groups == group]
            mark = {"c": colours[group], "marker": markers[group]}
            handles.append(axis.scatter(*points.T, **mark, **_POINT_STYLE))
            labels.append(f"{style.plain(names[group])} ({_count(layout, group)})")
        axis.set_xticks([])
        axis.set_yticks([])
        axis.set_aspect("equal")
        axis.spines[["top", "right"]].set_visible(True)
        axis.set_xlabel("t-SNE, axis 1 (no unit)")
        axis.set_ylabel("t-SNE, axis 2 (no unit)")
        style.legend_above(figure, handles, labels)


def _count(layout: EmbeddingMap, group: int) -> str:
    drawn, total = np.sum(layout.groups == group), layout.totals[group]
    return f"{drawn:,}" if drawn == total else f"{drawn:,} of {total:,}"
