"""docs/robustness.md names tests that are there."""

import ast
import functools
import re

import pytest

from tests.documents import ROOT

PAGE = (ROOT / "docs" / "robustness.md").read_text(encoding="utf-8")
LINES = [line for line in PAGE.splitlines() if line.startswith("| ")]
ROWS = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in LINES]
CASES = [row for row in ROWS if row[0] != "what is wrong"]


@functools.cache
def functions(path):
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_cases_are_many_and_distinct():
    assert len(CASES) >= 60
    assert len({(case, test) for case, _, test in CASES}) == len(CASES)


@pytest.mark.parametrize("row", CASES, ids=lambda row: row[0])
def test_every_case_has_its_test(row):
    _, happens, cited = row
    path, name = re.fullmatch(r"`(tests/[\w/]+\.py)::(test_\w+)`", cited).groups()
    assert name in functions(path)
    assert happens
