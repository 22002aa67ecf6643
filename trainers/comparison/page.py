"""HTML page of a comparison: bars with intervals, published figures, and all tables."""

import html
from collections.abc import Iterator

from quatre_tf.ranking.results import Results, Row
from trainers.comparison.plan import Comparison
from trainers.comparison.text import names, tables, title
from trainers.reporting.evaluation_tables import CANDIDATE_TITLES
from trainers.reporting.formatting import TITLES, metric_cell
from trainers.reporting.html_report import page
from trainers.reporting.rendering import as_html

_METRICS = ("mrr", "hits@10")
# Pixels of a chart: the names, the bars, the figures; and of a row.
_NAMES, _BARS, _FIGURES, _ROW = 90, 400, 60, 22
_PAPER, _BEST = "#d55e00", "#009e73"


def comparison_page(plan: Comparison, results: Results) -> str:
    """Returns the page, which needs no other file."""
    charts = [
        page.section(CANDIDATE_TITLES[name], *_charts(plan, results, name))
        for name in plan.candidates
    ]
    legend = page.note(
        "Bars: test split, with 95 % bootstrap intervals over triples. Orange lines: the paper. "
        "Green lines: the best figure that others report for all entities and fair ties."
    )
    figures = page.section("Figures", *map(as_html, tables(plan, results)))
    heading = f"{plan.dataset}: {', '.join(plan.models)}"
    return page.document(heading, [page.note(title(plan, results)), legend, *charts, figures])


def _charts(plan: Comparison, results: Results, candidates: str) -> Iterator[str]:
    for metric in _METRICS:
        found = {
            name: results.find(metric, candidates=candidates, run=name)
            for model in plan.models
            for name in names(plan, model)
        }
        ends = [end for row in found.values() if row for end in (row.value, row.high or 0.0)]
        height = _ROW * len(plan.models)
        bars = "".join(
            f'<g transform="translate({_NAMES} {_ROW * number})">{line}</g>'
            for number, line in enumerate(_lines(plan, found, _BARS / max(ends)))
        )
        width = _NAMES + _BARS + _FIGURES
        alt = f"{TITLES[metric]} by model, {CANDIDATE_TITLES[candidates].lower()}"
        yield (
            f"<figure><figcaption>{TITLES[metric]}</figcaption>"
            f'<svg role="img" aria-label="{html.escape(alt)}" viewBox="0 0 {width} {height}" '
            f'style="width: 100%; max-width: {width}px" font-size="13" '
            f'font-family="system-ui, sans-serif">{bars}</svg></figure>\n'
        )


def _lines(plan: Comparison, found: dict[str, Row | None], scale: float) -> Iterator[str]:
    """Yields a bar for each model: its name on the left, its figure on the right."""
    for model in plan.models:
        ours, *others = names(plan, model)
        row = found[ours]
        assert row, "every model of the plan was evaluated"
        low, high = (row.value if end is None else end for end in (row.low, row.high))
        yield (
            f'<text x="-8" y="15" text-anchor="end">{model}</text>'
            f'<rect y="4" width="{row.value * scale:.1f}" height="14" fill="#9ecae1"/>'
            f'<path d="M{low * scale:.1f} 11H{high * scale:.1f}" stroke="#08519c"/>'
            + "".join(_mark(found[name], scale) for name in others)
            + f'<text x="{_BARS + 8}" y="15">{metric_cell(row.metric, row.value)}</text>'
        )


def _mark(row: Row | None, scale: float) -> str:
    """Returns a line across a bar, with the figure as its tooltip."""
    if row is None:
        return ""
    color = _PAPER if row.run.endswith(", paper") else _BEST
    text = html.escape(f"{row.run}: {metric_cell(row.metric, row.value)}")
    return (
        f'<path d="M{row.value * scale:.1f} 1V21" stroke="{color}" stroke-width="2">'
        f"<title>{text}</title></path>"
    )
