"""The report's section on triple classification."""

import pathlib
from collections.abc import Mapping, Sequence

import numpy as np

from quatre_tf.classification.evaluating import evaluate_classification
from quatre_tf.errors import DataError
from quatre_tf.ranking.results import Results, Row
from quatre_tf.runs.run import Run
from trainers.reporting.classification_tables import classification_tables
from trainers.reporting.html_report import page, pictures
from trainers.reporting.rendering import as_html, write_csv

PARTS = ("classification.png", "classification.csv")
_SPLIT = "test"
_TITLE = "Triple classification"
# By curve: the labels of its axes.
_AXES = {
    "roc": ("False positive rate", "True positive rate"),
    "precision_recall": ("Recall", "Precision"),
}


def classification(runs: Mapping[str, Run], output: pathlib.Path) -> str:
    """ROC and precision-recall curves of the test split, and figures by relation.

    Args:
        runs: On the same graph, by name.
        output: Folder of the report.
    """
    # An earlier run may not have stored the negatives of the data set.
    graph = max((run.graph for run in runs.values()), key=lambda graph: len(graph.negatives))
    try:
        found = {
            name: evaluate_classification(run.model, graph, _SPLIT) for name, run in runs.items()
        }
    except DataError as error:
        return page.section(_TITLE, page.note(f"Not possible: {error}"))
    rows = [row._replace(run=name) for name, results in found.items() for row in results.rows]
    write_csv(output / "classification.csv", (row._asdict() for row in rows))
    first = next(iter(found.values()))
    results = Results(_SPLIT, first.num_triples, "", tuple(rows))
    draw_classification(results, output / "classification.png")
    picture = page.figure(
        output / "classification.png",
        "ROC curve and precision-recall curve of the test split",
        "With 95 % intervals over triples. On the dotted line, scores tell nothing. "
        "classification.csv has all figures and the points of the curves.",
    )
    return page.section(_TITLE, picture, *map(as_html, classification_tables(results)))


def draw_classification(results: Results, path: pathlib.Path) -> None:
    """Draws the ROC and the precision-recall curve; a color per run.

    Args:
        results: Of `evaluate_classification`.
        path: The PNG file.
    """
    with pictures.picture(path, height=3.3, columns=2) as (figure, grid):
        for axis, (curve, (x, y)) in zip(grid[0], _AXES.items(), strict=True):
            for color, run in zip(pictures.PALETTE, results.runs, strict=False):
                levels, values, low, high = _columns(results.select(metric=curve, run=run))
                axis.plot(levels, values, color=color, label=pictures.plain(run), clip_on=False)
                axis.fill_between(levels, low, high, color=color, alpha=0.2, linewidth=0)
            axis.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel=x, ylabel=y)
            axis.grid(True)
        chance = {"color": pictures.NEUTRAL, "linewidth": 0.7, "linestyle": ":"}
        grid[0][0].plot([0, 1], [0, 1], **chance)
        if len(results.runs) > 1:
            pictures.legend_above(figure, *grid[0][0].get_legend_handles_labels())


def _columns(rows: Sequence[Row]) -> np.ndarray:
    """Returns levels, values and both ends of their intervals: [4, levels]."""
    return np.array([(float(row.group), row.value, row.low, row.high) for row in rows]).T
