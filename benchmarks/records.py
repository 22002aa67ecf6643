"""Makes `benchmarks/records.md` and the tables of `docs/recipes.md` from `benchmarks/results`.

Usage: python -m benchmarks.records

Every figure of them is in one of the JSON files, and each of those holds the command of its run.
"""

import pathlib
from collections.abc import Sequence

from absl import flags

from benchmarks import ingredients_page, records_page
from datasets.program import run_program

_HERE = pathlib.Path(__file__).parent
_RESULTS = flags.DEFINE_string("results", str(_HERE / "results"), "Folder of the JSON files.")
_OUTPUT = flags.DEFINE_string("output", str(_HERE / "records.md"), "Page to write.")
_RECIPES = flags.DEFINE_string(
    "recipes", str(_HERE.parent / "docs" / "recipes.md"), "Page whose tables to write anew."
)


def main(argv: Sequence[str]) -> None:
    """Writes the pages."""
    del argv
    results = pathlib.Path(_RESULTS.value)
    records = records_page.read(results)
    pathlib.Path(_OUTPUT.value).write_text(records_page.page(records), encoding="utf-8")
    recipes = pathlib.Path(_RECIPES.value)
    document = recipes.read_text(encoding="utf-8")
    tables = ingredients_page.with_tables(document, ingredients_page.read(results))
    recipes.write_text(tables, encoding="utf-8")


if __name__ == "__main__":
    run_program(main)
