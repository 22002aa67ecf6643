import pathlib

import pytest

import benchmarks
from benchmarks import ingredients_page, ingredients_plan

MARKS = "before\n<!-- ingredients -->\nold\n<!-- end of ingredients -->\nafter\n"


def result(dataset="wn18rr"):
    content = ingredients_plan.begin(dataset)
    content["config"] |= {"embedding_dim": 8, "epochs": 3, "n3": 0.25}
    for run in ingredients_plan.runs(dataset, [1]):
        if run.ingredient in (ingredients_plan.BASELINE, "no N3"):
            ingredients_plan.add(content, run, {"mrr": 0.25, "hits@10": 0.5})
    return content


def test_tables_replace_what_is_between_the_marks():
    page = ingredients_page.with_tables(MARKS, [result()])
    assert page.startswith("before\n<!-- ingredients -->\n\nWN18RR, n = 8, 3 epochs, N3 0.25: `py")
    assert page.endswith("|\n\n<!-- end of ingredients -->\nafter\n")
    row = "| no N3 | 0.2500 | +0.0000 (+0.0000 to +0.0000) | 50.0 | +0.0 (+0.0 to +0.0) |"
    assert row in page.splitlines()
    assert "old" not in page
    assert ingredients_page.with_tables(page, [result()]) == page


def test_marks_are_needed():
    with pytest.raises(ValueError, match="Expected <!-- ingredients --> and"):
        ingredients_page.with_tables("nothing here", [])


def test_tables_of_the_repository_are_up_to_date():
    folder = pathlib.Path(benchmarks.__file__).parent
    document = (folder.parent / "docs" / "recipes.md").read_text("utf-8")
    results = ingredients_page.read(folder / "results")
    assert ingredients_page.with_tables(document, results) == document
