"""The report's section on the reliability of probabilities."""

import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from quatre_tf.calibration.platt import logistic, probabilities_of
from quatre_tf.data.graph import Graph
from quatre_tf.errors import DataError
from quatre_tf.ranking import statistics
from quatre_tf.runs.run import Run
from saved_models.calibrating import NUM_NEGATIVES, calibration_of, labelled_scores
from saved_models.reliability import NUM_BINS, quality, reliability_bins, triple_losses
from trainers.reporting.formatting import shorten
from trainers.reporting.html_report import page, pictures
from trainers.reporting.rendering import Table, as_html, write_csv

PARTS = ("reliability.png", "reliability.csv", "calibration.csv")
_SPLIT = "test"
_PLAIN, _CALIBRATED = "logistic function of the score", "calibrated"
_TITLE = "Probabilities"
# No relation has this name.
_ALL = ""
_MAX_RELATIONS = 10
Row = dict[str, Any]
# By the name of the probabilities; the first is drawn behind.
Probabilities = Mapping[str, np.ndarray]
_DIAGONAL_STYLE: dict[str, Any] = {"color": pictures.NEUTRAL, "linewidth": 0.7, "linestyle": ":"}
_CURVE_STYLES: tuple[dict[str, Any], ...] = (
    {"color": pictures.PALETTE[1], "marker": "o", "fillstyle": "none", "linestyle": "--"},
    {"color": pictures.PALETTE[0], "marker": "o"},
)
_KINDS = {"positives": pictures.PALETTE[2], "negatives": pictures.PALETTE[3]}
_EDGES = np.linspace(0, 1, 21)
_ROW_HEIGHT = 2.9
_HEADER = ("", "triples", "Brier score", "Log loss", "ECE")


def probabilities(runs: Mapping[str, Run], output: pathlib.Path) -> str:
    """Reliability diagram of the test split, and figures of it and its largest relations.

    Args:
        runs: On the same graph, by name.
        output: Folder of the report.
    """
    found = {name: of for name, run in runs.items() if (of := _probabilities(run))}
    if not found:
        return page.section(_TITLE, page.note("They are not calibrated: nothing to fit them on."))
    graph = next(iter(runs.values())).graph
    write_csv(output / "reliability.csv", _bin_rows(found))
    figures = list(_figures(found, graph))
    write_csv(output / "calibration.csv", figures)
    draw_reliability(found, output / "reliability.png")
    caption = (
        f"Triples of the {_SPLIT} split and {NUM_NEGATIVES} corrupted triples of each, which "
        f"together weigh as much as the triple. 95 % intervals over triples. ECE: expected "
        f"calibration error over {NUM_BINS} bins of equal weight; of few triples it is above 0 "
        "however good the probabilities are. calibration.csv has all relations."
    )
    return page.section(
        _TITLE,
        page.figure(
            output / "reliability.png",
            "Reliability diagram of the test split, and how calibrated probabilities are spread",
            f"Left: share of positives against mean probability in {NUM_BINS} bins of equal weight "
            "(fewer where many probabilities are equal); on the dotted line probabilities come "
            "true. Right: calibrated probabilities of positives, the triples of the split, and "
            "negatives, corrupted ones.",
        ),
        as_html(Table(caption, _HEADER, list(_table(figures, len(found))))),
    )


def _probabilities(run: Run) -> Probabilities | None:
    """Returns probabilities `[n, 1 + k]` by their name; None if the run has none."""
    try:
        scores = labelled_scores(run.model, run.graph, _SPLIT)
    except DataError:
        return None
    calibration = calibration_of(run)
    if calibration is None:
        return None
    relations = run.graph.split(_SPLIT)[:, 1]
    return {_PLAIN: logistic(scores), _CALIBRATED: probabilities_of(calibration, scores, relations)}


def _bin_rows(runs: Mapping[str, Probabilities]) -> Iterator[Row]:
    for run, named in runs.items():
        for name, of in named.items():
            for weight, predicted, observed in reliability_bins(of).tolist():
                place = {"run": run, "probabilities": name, "weight": weight}
                yield {**place, "mean probability": predicted, "share of positives": observed}


def _figures(runs: Mapping[str, Probabilities], graph: Graph) -> Iterator[Row]:
    """Yields rows by run and name: of the split, "", then of relations, the most frequent first."""
    relations = graph.split(_SPLIT)[:, 1]
    counts = np.bincount(relations, minlength=graph.num_relations)
    frequent = [r for r in np.argsort(-counts, kind="stable") if counts[r]]
    parts = {_ALL: slice(None)} | {graph.relations.names[r]: relations == r for r in frequent}
    for part, members in parts.items():
        for run, named in runs.items():
            for name, of in named.items():
                place = {"relation": part, "run": run, "probabilities": name}
                yield {**place, "triples": len(of[members]), **_measured(of[members])}


def _measured(of: np.ndarray) -> Row:
    figures = quality(of)
    ends = statistics.bootstrap_intervals(triple_losses(of)).tolist()
    row: Row = {}
    for metric, (low, high) in zip(("brier", "log_loss"), ends, strict=True):
        row |= {metric: figures[metric], f"{metric} low": low, f"{metric} high": high}
    return {**row, "ece": figures["ece"]}


def _table(figures: Sequence[Row], num_runs: int) -> Iterator[list[str]]:
    parts = list(dict.fromkeys(row["relation"] for row in figures))[: 1 + _MAX_RELATIONS]
    short = {_ALL: "All relations", **shorten(parts[1:])}
    for part in parts:
        yield [short[part]]
        for row in figures:
            if row["relation"] == part:
                named = f"{row['probabilities']}, {row['run']}"
                yield [named if num_runs > 1 else row["probabilities"], *_cells(row)]


def _cells(row: Row) -> list[str]:
    cells = [
        f"{row[metric]:.4f}\n{row[f'{metric} low']:.4f} to {row[f'{metric} high']:.4f}"
        for metric in ("brier", "log_loss")
    ]
    return [f"{row['triples']:,}", *cells, f"{row['ece']:.4f}"]


def draw_reliability(runs: Mapping[str, Probabilities], path: pathlib.Path) -> None:
    """Draws a row per run: a reliability diagram, and how the last probabilities are spread.

    Args:
        runs: By run and name, probabilities `[n, 1 + k]` as in `saved_models.reliability`.
        path: The PNG file.
    """
    height = 0.4 + _ROW_HEIGHT * len(runs)
    with pictures.picture(path, height, rows=len(runs), columns=2) as (figure, grid):
        for (diagram, spread), (run, named) in zip(grid, runs.items(), strict=True):
            _draw_diagram(diagram, named)
            *_, last = named.values()
            _draw_spread(spread, last)
            if len(runs) > 1:
                diagram.set_title(pictures.plain(run), loc="left")
        (curves, names), (areas, kinds) = (axis.get_legend_handles_labels() for axis in grid[0])
        pictures.legend_above(figure, curves + areas, names + kinds)


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
    for (kind, color), of in zip(_KINDS.items(), values, strict=True):
        shares = np.histogram(of, _EDGES)[0] / of.size
        axis.stairs(shares, _EDGES, color=color, fill=True, alpha=0.5, label=kind)
    axis.set(xlim=(0, 1), ylim=(0, None))
    axis.set(xlabel="Calibrated probability", ylabel="Share of each kind")
    axis.grid(True, axis="y")
