"""HTML of the report: one self-contained page."""

import base64
import html
import pathlib
from collections.abc import Iterable

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 60rem; margin: 0 auto;
       padding: 1rem; }
h1 { font-size: 1.6rem; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin-top: 2.5rem; border-bottom: 1px solid #ccc; }
figure { margin: 1rem 0; }
img { width: 100%; max-width: 52rem; height: auto; }
figcaption, .note { color: #555; font-size: .9rem; max-width: 52rem; }
.scroll { overflow-x: auto; }
table { border-collapse: separate; border-spacing: 0; font-size: .9rem;
        font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .2rem .7rem; border-bottom: 1px solid #e5e5e5;
         vertical-align: top; white-space: nowrap; }
th:first-child { text-align: left; padding-left: 0; position: sticky; left: 0; background: #fff; }
tbody th { font-weight: normal; }
tr.group th { padding-top: .7rem; font-weight: 600; border-bottom: 0; white-space: normal; }
tr.group div { position: sticky; left: 0; max-width: min(88vw, 50rem); }
tr.group small { font-weight: normal; }
small { color: #555; display: block; }
summary { cursor: pointer; margin: .7rem 0; }
"""


def generator(program: str) -> str:
    """Returns the element that names the program that wrote a page."""
    return f'<meta name="generator" content="{program}">'


def document(title: str, sections: Iterable[str], program: str) -> str:
    """Returns a whole page, which names the program that wrote it."""
    title = html.escape(title)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"{generator(program)}\n"
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{title}</h1>\n{''.join(sections)}</body>\n</html>\n"
    )


def section(title: str, *parts: str) -> str:
    """Returns a section; its parts are HTML."""
    return f"<section>\n<h2>{html.escape(title)}</h2>\n{''.join(parts)}</section>\n"


def note(text: str) -> str:
    """Returns a paragraph of plain text in small print."""
    return f'<p class="note">{html.escape(text)}</p>\n'


def figure(path: pathlib.Path, alt: str, caption: str) -> str:
    """Returns a PNG file, inlined, with its caption."""
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    return (
        f'<figure>\n<img alt="{html.escape(alt)}" src="data:image/png;base64,{data}">\n'
        f"<figcaption>{html.escape(caption)}</figcaption>\n</figure>\n"
    )


def details(summary: str, content: str) -> str:
    """Returns collapsed HTML."""
    return f"<details><summary>{html.escape(summary)}</summary>\n{content}</details>\n"
