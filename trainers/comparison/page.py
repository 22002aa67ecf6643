"""HTML page of a comparison: bars with intervals, published figures, and all tables."""

import functools
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
    sections = [page.note(title(plan, results)), legend, *charts, figures]
    return page.document(heading, sections, "quatre compare")


def _charts(plan: Comparison, results: Results, candidates: str) -> Iterator[str]:
    for metric in _METRICS:
        find = functools.partial(results.find, metric, candidates=candidates)
        lines = [
            [row for name in names(results, model) if (row := find(run=name))]
            for model in plan.models
        ]
        largest = max(max(row.value, row.high or 0.0) for rows in lines for row in rows)
        scale = _BARS / (largest or 1.0)
        height = _ROW * len(lines)
        bars = "".join(
            f'<g transform="translate({_NAMES} {_ROW * number})">{_line(*rows, scale=scale)}</g>'
            for number, rows in enumerate(lines)
        )
        width = _NAMES + _BARS + _FIGURES
        alt = f"{TITLES[metric]} by model, {CANDIDATE_TITLES[candidates].lower()}"
        yield (
            f"<figure><figcaption>{TITLES[metric]}</figcaption>"
            f'<svg role="img" aria-label="{html.escape(alt)}" viewBox="0 0 {width} {height}" '
            f'style="width: 100%; max-width: {width}px" font-size="13" '
            f'font-family="system-ui, sans-serif">{bars}</svg></figure>\n'
        )


def _line(row: Row, *others: Row, scale: float) -> str:
    """Returns the bar of a model: its name on the left, its figure on the right."""
    low, high = (row.value if end is None else end for end in (row.low, row.high))
    return (
        f'<text x="-8" y="15" text-anchor="end">{row.run}</text>'
        f'<rect y="4" width="{row.value * scale:.1f}" height="14" fill="#9ecae1"/>'
        f'<path d="M{low * scale:.1f} 11H{high * scale:.1f}" stroke="#08519c"/>'
        + "".join(_mark(other, scale) for other in others)
        + f'<text x="{_BARS + 8}" y="15">{metric_cell(row.metric, row.value)}</text>'
    )


def _mark(row: Row, scale: float) -> str:
    """Returns a line across a bar, with the figure as its tooltip."""
    color = _PAPER if row.run.endswith(", paper") else _BEST
    text = html.escape(f"{row.run}: {metric_cell(row.metric, row.value)}")
    return (
        f'<path d="M{row.value * scale:.1f} 1V21" stroke="{color}" stroke-width="2">'
        f"<title>{text}</title></path>"
    )
