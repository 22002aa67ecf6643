import csv
import io
import json

import pytest

from quatre_tf.errors import DataError
from trainers.prediction.formats import Block, Report, write

COLUMNS = ["head", "rank", "entity", "label", "score", "because"]
FACT = {
    "relation": "r",
    "head": "Q5",
    "head_label": "five",
    "tail": "Q6",
    "tail_label": None,
    "answer_similarity": 0.5,
    "given_similarity": -0.25,
}
ROWS = [
    {"rank": 1, "entity": 'a,"b"', "label": None, "score": 0.1 + 0.2, "because": [FACT]},
    {"rank": 2, "entity": "日本", "label": "two\nlines", "score": -1e-9, "because": []},
]
REPORT = Report(COLUMNS, [Block("(x, r, ?)", {"head": "x"}, ROWS), Block("(y, r, ?)", {}, [])])


def expected(**changes):
    return [{"head": "x", **row, **changes} for row in ROWS]


def test_json_holds_every_digit(capsys):
    write(REPORT, "json")
    assert json.loads(capsys.readouterr().out) == expected()


def test_csv_has_a_header_and_nothing_for_none(capsys):
    write(REPORT, "csv")
    header, *rows = csv.reader(io.StringIO(capsys.readouterr().out, newline=""))
    assert header == COLUMNS
    rows = [dict(zip(header, row, strict=True)) for row in rows]
    for row in rows:
        row |= {"rank": int(row["rank"]), "score": float(row["score"])}
        row |= {"because": json.loads(row["because"]), "label": row["label"] or None}
    assert rows == expected()


def test_tables_with_titles_and_reasons(capsys):
    """Names are escaped wherever they stand."""
    fact = {**FACT, "relation": "r\x0b", "tail": "Q\n6"}
    rows = [{**ROWS[0], "because": [fact]}]
    blocks = [Block("(x\x1b[31m, r, ?)", {}, rows), Block("(y, r, ?)", {}, [])]
    write(Report(COLUMNS, blocks), "table")
    assert capsys.readouterr().out == (
        "(x\\x1b[31m, r, ?)\n"
        "rank  entity  score\n"
        '1      a,"b"  0.300\n'
        "    like (Q5 five, r\\x0b, Q\\n6): answer 0.50, given -0.25\n"
        "\n"
        "(y, r, ?)\n"
        "No candidates are left.\n"
    )


def test_a_file_appears_complete_or_not_at_all(tmp_path, capsys):
    path = tmp_path / "answers.json"
    path.write_text("before")

    def failing():
        yield REPORT.blocks[0]
        raise DataError("broken")

    with pytest.raises(DataError, match="broken"):
        write(Report(COLUMNS, failing()), "json", str(path))
    assert [p.name for p in tmp_path.iterdir()] == ["answers.json"]
    assert path.read_text() == "before"
    write(REPORT, "json", str(path))
    assert json.loads(path.read_text()) == expected()
    assert [p.name for p in tmp_path.iterdir()] == ["answers.json"]
    assert capsys.readouterr().out == ""
