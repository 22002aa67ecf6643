"""The tables of an evaluation, made from its results.

Each candidate set has a note on its meaning, because tables are copied without their documentation.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from quatre_tf.ranking.results import AMRI, METRICS, UNSEEN_ANSWERS, Results, Row
from trainers.reporting.formatting import SIDE_TITLES, TITLES, metric_cell, shorten
from trainers.reporting.rendering import Table

CANDIDATE_TITLES = {
    "all": "All entities",
    "type_constrained": "Type constraint, all splits",
    "train_type_constrained": "Type constraint, train",
}
MAX_RELATIONS = 20
WIDEST_NAME = 48
_CATEGORY_SOURCES = {"category": "all splits, as in the paper", "train_category": "train"}
Lines = Mapping[str, Mapping[str, Any]]
_SIDES = {title: {"side": side} for side, title in SIDE_TITLES.items()}


def evaluation_tables(results: Results) -> list[Table]:
    """Returns all tables of an evaluation that fit on a few screens."""
    return [
        overall(results),
        *tie_policies(results),
        *comparison(results),
        *categories(results),
        *relations(results),
        unseen_entities(results),
    ]


def overall(results: Results) -> Table:
    """Returns the metrics by candidate set and side, with intervals where there are any."""
    headings = {claim(results, name): {"candidates": name} for name in results.candidates}
    among = ""
    if results.candidates == ("all",):
        headings, among = {"": {}}, " all entities as candidates,"
    intervals = "" if results.rows[0].low is None else "; with 95 % bootstrap intervals"
    title = (
        f"Filtered ranking, {results.split} split: {results.num_triples:,} triples,{among} "
        f"{results.tie_policy} ties{intervals}"
    )
    has_index = any(row.metric == AMRI for row in results.rows)
    return table_of(results, title, headings, _SIDES, (*METRICS, *[AMRI] * has_index))


def tie_policies(results: Results) -> Iterator[Table]:
    """Yields the metrics of all tie policies, if they differ."""
    policies = {row.tie_policy: {"tie_policy": row.tie_policy} for row in results.rows}
    if len(policies) > 1:
        title = "Equal scores make a difference (heads and tails)"
        yield table_of(results, title, candidate_sets(results), policies)


def comparison(results: Results, lines: Lines = _SIDES) -> Iterator[Table]:
    """Yields the differences from each baseline, with intervals and p values."""
    for baseline in dict.fromkeys(row.baseline for row in results.rows if row.baseline):
        title = (
            f"Differences from {baseline}, paired by triple.\n"
            "A lower MR is better; for the other metrics, a higher one."
        )
        headings = {
            heading: {**place, "baseline": baseline}
            for heading, place in candidate_sets(results).items()
        }
        yield table_of(results, title, headings, lines)


def categories(results: Results) -> Iterator[Table]:
    """Yields the metrics by category of the relation: over all splits, and over train."""
    place = {"candidates": results.candidates[0]}
    for group_by, source in _CATEGORY_SOURCES.items():
        groups = {
            f"{name} ({size:,} triples)": {**place, "group_by": group_by, "group": name}
            for name, size in results.groups(group_by).items()
        }
        if groups:
            chosen = CANDIDATE_TITLES[place["candidates"]].lower()
            title = f"By category of the relation, counted over {source}; {chosen}"
            yield table_of(results, title, groups, _SIDES)


def relations(results: Results) -> Iterator[Table]:
    """Yields MRR and Hits@10 of the most frequent relations, without intervals."""
    candidates = results.candidates[0]
    sizes = results.groups("relation")
    shown = shorten(list(sizes)[:MAX_RELATIONS], WIDEST_NAME)
    columns = [(side, metric) for side in SIDE_TITLES for metric in ("mrr", "hits@10")]
    rows = []
    for name, short in shown.items():
        for run in results.runs:
            place = {"candidates": candidates, "group_by": "relation", "group": name, "run": run}
            found = [results.find(metric, side=side, **place) for side, metric in columns]
            cells = [metric_cell(row.metric, row.value) if row else "-" for row in found]
            rows.append([_label(results, short, run), f"{sizes[name]:,}", *cells])
    more = f", the {len(shown)} most frequent of {len(sizes)}" if len(shown) < len(sizes) else ""
    names = {"both": "", "head": " heads", "tail": " tails"}
    header = ["", "triples", *(f"{TITLES[metric]}{names[side]}" for side, metric in columns)]
    if rows:
        yield Table(f"By relation{more}; {CANDIDATE_TITLES[candidates].lower()}", header, rows)


def unseen_entities(results: Results) -> Table:
    """Returns the metrics of the triples with an entity that train does not have."""
    number = sum(results.groups("entities").values())
    title = f"{number:,} of {results.num_triples:,} triples have an entity that train does not have"
    if not number:
        return Table(f"{title}.", [""], [])
    place = {"group_by": "entities", "group": "unseen"}
    headings = {heading: {**where, **place} for heading, where in candidate_sets(results).items()}
    return table_of(results, f"{title}; the other tables include them", headings, _SIDES)


def table_of(
    results: Results,
    title: str,
    headings: Lines,
    lines: Lines,
    metrics: Collection[str] = METRICS,
) -> Table:
    """Returns a row for each heading, line and run that has figures.

    Args:
        results: The results.
        title: Title of the table.
        headings: Arguments of `Results.find` by heading.
        lines: More of them by the name of the row.
        metrics: The columns.
    """
    rows: list[list[str]] = []
    for heading, where in headings.items():
        below = []
        for line, place in lines.items():
            for run in results.runs:
                found = [results.find(metric, run=run, **where, **place) for metric in metrics]
                if any(found):
                    below.append([_label(results, line, run), *map(_cell, found)])
        rows += [[heading], *below] if below and heading else below
    return Table(title, ["", *(TITLES[metric] for metric in metrics)], rows)


def claim(results: Results, candidates: str) -> str:
    """Returns what the metrics of a candidate set may claim, in a line or two."""
    found = [results.find(UNSEEN_ANSWERS, candidates=candidates, side=s) for s in ("head", "tail")]
    heads, tails = (f"{row.value:,.0f}" if row else "?" for row in found)
    return {
        "all": "All entities (the paper's _1)",
        "type_constrained": "Type constraint from all splits, answers included (the paper's _2)\n"
        f"{heads} of the heads and {tails} of the tails are in it only through the {results.split} "
        "split.",
        "train_type_constrained": "Type constraint from train only\n"
        f"{heads} of the heads and {tails} of the tails are not in it; they are ranked all the "
        "same.",
    }[candidates]


def candidate_sets(results: Results) -> Lines:
    """Returns the candidate sets of results as headings of `table_of`."""
    return {CANDIDATE_TITLES[name]: {"candidates": name} for name in results.candidates}


def _label(results: Results, line: str, run: str) -> str:
    """Names a row; the run too if there are several."""
    return ", ".join(filter(None, (line, run))) if len(results.runs) > 1 else line


def _cell(row: Row | None) -> str:
    """Returns the value, and below it the interval and the p value."""
    if row is None:
        return "-"
    sign = "+" if row.baseline else ""
    lines = [metric_cell(row.metric, row.value, sign)]
    if row.low is not None and row.high is not None:
        lines.append(" to ".join(metric_cell(row.metric, end, sign) for end in (row.low, row.high)))
    if row.p_value is not None:
        lines.append("p < 0.001" if row.p_value < 0.001 else f"p = {row.p_value:.3f}")
    return "\n".join(lines)
