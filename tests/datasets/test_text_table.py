import pytest

from datasets.text_table import csv_cell, table


@pytest.mark.parametrize(
    "separator", ["\n", "\r", "\x0b", "\x0c", "\x1c", "\x1e", "\x85", "\u2028"]
)
def test_a_row_is_a_line_whatever_is_in_it(separator):
    lines = table([["name", "n"], [f"a{separator}b", "1"]]).splitlines()
    assert len(lines) == 2
    assert lines[1].startswith("a\\")
    assert lines[1].endswith("  1")


def test_long_cells_are_shortened():
    assert table([["x" * 20_000_000]]) == "x" * 100 + "…"


def test_spreadsheets_compute_no_cell():
    given = ["=1+1", "@x", "+1", "-1", "\t=1", "a=1", "", -1.5, None]
    expected = ["'=1+1", "'@x", "'+1", "'-1", "'\t=1", "a=1", "", -1.5, None]
    assert list(map(csv_cell, given)) == expected
