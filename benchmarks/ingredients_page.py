"""The tables of `benchmarks.ingredients` in docs/recipes.md."""

import json
import pathlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks import ingredients_plan, markdown

_START, _END = "<!-- ingredients -->\n", "<!-- end of ingredients -->\n"


def read(folder: pathlib.Path) -> list[dict[str, Any]]:
    """Returns what `benchmarks.ingredients` wrote to a folder, in the order of the titles."""
    contents = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")]
    results = [content for content in contents if content.get("kind") == "ingredients"]
    return sorted(results, key=lambda result: list(markdown.TITLES).index(result["dataset"]))


def with_tables(document: str, results: Sequence[Mapping[str, Any]]) -> str:
    """Returns a document with the tables between its two marks.

    Raises:
        ValueError: The marks are not there once each.
    """
    if document.count(_START) != 1 or document.count(_END) != 1:
        raise ValueError(f"Expected {_START.strip()} and {_END.strip()} once each.")
    tables = "\n".join(["", *map(_section, results), ""])
    block = re.compile(f"(?<={re.escape(_START)}).*(?={re.escape(_END)})", re.DOTALL)
    return block.sub(lambda _: tables, document)


def _section(result: Mapping[str, Any]) -> str:
    config = result["config"]
    header, *rows = ingredients_plan.table(result)
    title = (
        f"{markdown.TITLES[result['dataset']]}, n = {config['embedding_dim']}, "
        f"{config['epochs']} epochs, N3 {config['n3']:g}"
    )
    return f"{title}: `{result['command']}`\n\n{markdown.table(header, rows)}"
