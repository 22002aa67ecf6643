"""An evaluation as flat rows, for the CSV files."""

import csv
import pathlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from trainers.reporting.text import METRICS, SIDE_TITLES

Row = dict[str, Any]
Evaluation = Mapping[str, Any]


def overall(evaluation: Evaluation) -> Iterator[Row]:
    """Yields a row per candidate set and side."""
    for name, sides in evaluation["candidates"].items():
        for side, metrics in sides.items():
            place = {"candidates": name, "side": side, "triples": evaluation["num_triples"]}
            index = evaluation["adjusted_mean_rank_index"][name][side]
            figures = _figures(metrics, evaluation["intervals"][name][side])
            yield {**place, **figures, "adjusted mean rank index": index}


def categories(evaluation: Evaluation) -> Iterator[Row]:
    """Yields a row per definition of the categories, candidate set, category and side."""
    for definition, sets in evaluation["categories"].items():
        for name, parts in sets.items():
            place = {"categories over": definition, "candidates": name}
            yield from _by_side("category", parts, place)


def relations(evaluation: Evaluation) -> Iterator[Row]:
    """Yields a row per candidate set, relation and side, the most frequent relation first."""
    for name, parts in evaluation["relations"].items():
        yield from _by_side("relation", parts, {"candidates": name})


def unseen_entities(evaluation: Evaluation) -> Iterator[Row]:
    """Yields a row per candidate set and side over the triples with an unseen entity."""
    unseen = evaluation["unseen_entities"]
    for name, sides in unseen["candidates"].items():
        for side, metrics in sides.items():
            yield {"candidates": name, "side": side, "triples": unseen["num_triples"], **metrics}


def comparison(evaluation: Evaluation) -> Iterator[Row]:
    """Yields a row per candidate set, side and metric."""
    for name in evaluation["candidates"]:
        for side in SIDE_TITLES:
            for metric in METRICS:
                found = evaluation["comparison"][name][side][metric]
                place = {"candidates": name, "side": side, "metric": metric}
                low, high = found["interval"]
                size = {"difference": found["difference"], "low": low, "high": high}
                yield {**place, **size, "p": found["p_value"]}


def tagged(by_run: Mapping[str, Iterable[Row]]) -> list[Row]:
    """Returns the rows of several runs as one list, each with the name of its run."""
    return [{"run": run, **row} for run, found in by_run.items() for row in found]


def write_csv(path: pathlib.Path, rows: Iterable[Row]) -> None:
    """Writes rows to a CSV file; a column that a row does not have stays empty."""
    rows = list(rows)
    columns = list(dict.fromkeys(column for row in rows for column in row))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _by_side(kind: str, parts: Mapping[str, Mapping[str, Any]], place: Row) -> Iterator[Row]:
    for name, part in parts.items():
        for side in SIDE_TITLES:
            here = {kind: name, "side": side, "triples": part["num_triples"]}
            yield {**place, **here, **_figures(part[side], part["intervals"][side])}


def _figures(metrics: Mapping[str, float], intervals: Mapping[str, list[float]]) -> Row:
    """Returns each metric with the ends of its 95 % interval."""
    figures: Row = {}
    for metric, value in metrics.items():
        low, high = intervals[metric]
        figures |= {metric: value, f"{metric} low": low, f"{metric} high": high}
    return figures
