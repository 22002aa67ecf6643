"""HTML tables of an evaluation."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from trainers.reporting.analysis import page
from trainers.reporting.analysis.bars import Evaluations
from trainers.reporting.evaluation_text import claim
from trainers.reporting.text import METRICS, SIDE_TITLES, TITLES, metric_cells

Evaluation = Mapping[str, Any]
_HEADER = ["", *(TITLES[metric] for metric in METRICS)]


def overall(evaluations: Evaluations, caption: str) -> str:
    """Returns the figures by candidate set and side, with their intervals below them."""

    def cells(evaluation: Evaluation, name: str, side: str) -> list[str]:
        ends = evaluation["intervals"][name][side]
        figures = metric_cells(evaluation["candidates"][name][side])
        index = evaluation["adjusted_mean_rank_index"][name][side]
        shown = [
            f"{cell}\n{_interval(m, ends[m])}" for m, cell in zip(METRICS, figures, strict=True)
        ]
        return [*shown, "-" if index is None else f"{index:.4f}"]

    return page.table(caption, [*_HEADER, "AMRI"], _rows(evaluations, _claims(evaluations), cells))


def ties(evaluation: Evaluation) -> str:
    """Returns the figures of the tie policies, heads and tails together."""
    rows: list[list[str]] = []
    for name, label in _claims({"": evaluation}).items():
        rows.append([label])
        rows += [
            [policy, *metric_cells(sets[name]["both"])]
            for policy, sets in evaluation["tie_policies"].items()
        ]
    return page.table("Heads and tails", _HEADER, rows)


def unseen_entities(evaluations: Evaluations, caption: str) -> str:
    """Returns the figures over the triples with an unseen entity."""

    def cells(evaluation: Evaluation, name: str, side: str) -> list[str]:
        return metric_cells(evaluation["unseen_entities"]["candidates"][name][side])

    return page.table(caption, _HEADER, _rows(evaluations, _claims(evaluations), cells))


def comparison(evaluation: Evaluation, caption: str) -> str:
    """Returns the differences between two runs, with intervals and p-values below them."""

    def cells(evaluation: Evaluation, name: str, side: str) -> list[str]:
        found = evaluation["comparison"][name][side]
        return [_difference(metric, found[metric]) for metric in METRICS]

    runs = {"": evaluation}
    return page.table(caption, _HEADER, _rows(runs, _claims(runs), cells))


def categories(evaluations: Evaluations, definition: str, candidates: str, caption: str) -> str:
    """Returns the figures by category, heads and tails apart."""

    def cells(evaluation: Evaluation, name: str, side: str) -> list[str]:
        part = evaluation["categories"][definition][candidates][name]
        return [f"{part['num_triples']:,}", *metric_cells(part[side])]

    names = _first(evaluations)["categories"][definition][candidates]
    header = ["", "triples", *_HEADER[1:]]
    return page.table(caption, header, _rows(evaluations, {name: name for name in names}, cells))


def _claims(evaluations: Evaluations) -> dict[str, str]:
    """Returns above the figures of each candidate set what they may claim."""
    first = _first(evaluations)
    return {name: claim(first, name) for name in first["candidates"]}


def _first(evaluations: Evaluations) -> Evaluation:
    return next(iter(evaluations.values()))


def _rows(
    evaluations: Evaluations,
    groups: Mapping[str, str],
    cells: Callable[[Evaluation, str, str], list[str]],
) -> list[list[str]]:
    """Returns a heading per group, below it a row per side and run."""
    body: list[list[str]] = []
    for group, label in groups.items():
        body.append([label])
        for side, title in SIDE_TITLES.items():
            for run, evaluation in evaluations.items():
                named = f"{title}, {run}" if len(evaluations) > 1 else title
                body.append([named, *cells(evaluation, group, side)])
    return body


def _interval(metric: str, ends: Iterable[float]) -> str:
    return " – ".join(metric_cells({metric: end}, [metric])[0] for end in ends)


def _difference(metric: str, found: Mapping[str, Any]) -> str:
    low, high = (_signed(metric, end) for end in found["interval"])
    p_value = "p < 0.001" if found["p_value"] < 0.001 else f"p = {found['p_value']:.3f}"
    return f"{_signed(metric, found['difference'])}\n{low} to {high}\n{p_value}"


def _signed(metric: str, value: float) -> str:
    return f"{value:+,.1f}" if metric == "mr" else f"{value:+.4f}"
