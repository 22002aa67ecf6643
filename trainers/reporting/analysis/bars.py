"""Pictures of an evaluation: candidate sets, relation categories, relations."""

import math
import pathlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from trainers.reporting.analysis import marks, style
from trainers.reporting.text import SIDE_TITLES

Evaluations = Mapping[str, Mapping[str, Any]]
METRICS = {"mrr": "MRR", "hits@10": "Hits@10"}
_NOTHING = (math.nan,) * 3


def draw_overall(runs: Evaluations, sets: Mapping[str, str], path: pathlib.Path) -> None:
    """Draws MRR and Hits@10 of each candidate set and side, with 95 % intervals.

    Args:
        runs: Evaluations by the name of their run.
        sets: What people call the candidate sets.
        path: The PNG file.
    """
    rows = [(name, side) for name in sets for side in ("", *SIDE_TITLES)]
    ticks = [SIDE_TITLES.get(side, sets[name]) for name, side in rows]
    height = 0.8 + len(rows) * (0.19 if len(runs) == 1 else 0.24)
    with style.picture(path, height, columns=2) as (figure, grid):
        for axis, metric in zip(grid[0], METRICS, strict=True):
            marks.points(axis, {run: _overall(e, rows, metric) for run, e in runs.items()})
            axis.set_xlabel(METRICS[metric])
            axis.set_yticks(range(len(rows)), ticks if axis is grid[0, 0] else [""] * len(rows))
        for (_, side), text in zip(rows, grid[0, 0].get_yticklabels(), strict=True):
            text.set_fontweight("normal" if side else "bold")
        marks.legend(figure, list(runs))


def draw_categories(runs: Evaluations, candidates: str, path: pathlib.Path) -> None:
    """Draws MRR and Hits@10 by category of the relation, heads and tails apart (Figure 2).

    Categories are those over all splits, as in the paper; one without triples stays out.
    """
    parts = {run: e["categories"]["all_splits"][candidates] for run, e in runs.items()}
    first = next(iter(parts.values()))
    ticks = [f"{name}\nn = {part['num_triples']:,}" for name, part in first.items()]
    with style.picture(path, height=4.2, rows=2, columns=2) as (figure, grid):
        for row, metric in zip(grid, METRICS, strict=True):
            for axis, side in zip(row, ("head", "tail"), strict=True):
                marks.bars(axis, _by_part(parts, first, side, metric), ticks)
                axis.set_ylim(0, 1)
            row[0].set_ylabel(METRICS[metric])
        grid[0, 0].set_title("Predicting the head")
        grid[0, 1].set_title("Predicting the tail")
        marks.legend(figure, list(runs))


def draw_relations(
    runs: Evaluations, candidates: str, names: Mapping[str, str], path: pathlib.Path
) -> None:
    """Draws the MRR of relations, both sides together (Table 3).

    Args:
        runs: Evaluations by the name of their run.
        candidates: The candidate set.
        names: Short names of the relations to show, in their order.
        path: The PNG file.
    """
    parts = {run: e["relations"][candidates] for run, e in runs.items()}
    counts = {name: part["num_triples"] for name, part in next(iter(parts.values())).items()}
    ticks = [f"{style.plain(short)}  ({counts[name]:,})" for name, short in names.items()]
    height = 0.9 + len(names) * (0.2 if len(runs) == 1 else 0.3)
    with style.picture(path, height) as (figure, grid):
        axis = grid[0, 0]
        marks.bars(axis, _by_part(parts, names, "both", "mrr"), ticks, horizontal=True)
        axis.set_xlim(0, 1)
        axis.set_xlabel("MRR")
        marks.legend(figure, list(runs))


def _overall(
    evaluation: Mapping[str, Any], rows: Iterable[tuple[str, str]], metric: str
) -> np.ndarray:
    """Returns value, low and high end of the interval: [rows, 3]; NaN in the rows of headings."""
    values, ends = evaluation["candidates"], evaluation["intervals"]
    return np.array(
        [
            (values[name][side][metric], *ends[name][side][metric]) if side else _NOTHING
            for name, side in rows
        ]
    )


def _by_part(
    runs: Evaluations, names: Iterable[str], side: str, metric: str
) -> dict[str, np.ndarray]:
    """Returns by run value, low and high end of the interval of each part: [names, 3]."""
    return {
        run: np.array(
            [(parts[name][side][metric], *parts[name]["intervals"][side][metric]) for name in names]
        )
        for run, parts in runs.items()
    }
