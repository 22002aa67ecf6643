"""What `python -m trainers.predict` shows, and what it refuses."""

import dataclasses
import io
import json
import re

import numpy as np
import pytest

from quatre_tf import Run
from tests import commands
from tests.quatre_tf.ranking.small_graph import small_graph, small_model
from trainers.prediction import predicting
from trainers.prediction.formats import write
from trainers.prediction.predicting import Options, Predictor
from trainers.prediction.prompt import converse, typed_lines
from trainers.prediction.questions import Question
from trainers.prediction.reports import report_answers, report_missing

QUESTIONS = [Question("likes", "b", "tail"), Question("rules", "a", "head")]
LABELS = {"a": "Ann", "c": "Cleo"}


@pytest.fixture
def trained(tmp_path, monkeypatch):
    """Scores are products of the entities' numbers; a probability is logistic(score - 1)."""
    curves = np.array([[1.0, -1.0]] * 2)
    monkeypatch.setattr(predicting, "calibration_of", lambda _: curves)
    graph = dataclasses.replace(small_graph(), labels=LABELS)
    return Run(small_model(), graph, tmp_path)


def logistic(score):
    return pytest.approx(1 / (1 + np.exp(1 - score)), rel=1e-5)


def rows_of(report, columns):
    """The cells of all rows, of these columns."""
    assert list(report.columns) == columns.split()
    rows = [{**block.same, **row} for block in report.blocks for row in block.rows]
    return [tuple(row[name] for name in report.columns) for row in rows]


def written(capsys, report, form):
    write(report, form)
    return capsys.readouterr().out


def test_a_prompt_answers_line_by_line_and_goes_on_after_mistakes(trained, capsys):
    lines = [
        'b, "likes", ?',
        "b, like, ?",
        "b likes",
        '"b"\tlikes\t?',
        "?\trules\ta",
        "",
        "b, likes, ?",
    ]
    converse(trained, Options(1), lines)
    out = capsys.readouterr().out
    assert re.findall(r"^1 +(\w+) +(\S+)", out, re.MULTILINE) == [("f", "6.000"), ("f", "3.000")]
    assert "error: Unknown relation 'like'. Did you mean 'likes'?" in out
    assert "error: expected three fields (head, relation, tail), received 1: ['b likes']." in out
    # Between TABs, quotes are part of a name.
    assert "error: Unknown entity '\"b\"'" in out


def test_a_byte_that_is_no_text_does_not_end_the_prompt(trained, monkeypatch, capsys):
    typed = io.BytesIO(b"b, likes, \xf1\nb\xf1, likes, ?\nb, likes, ?\n")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(typed, "utf-8"))
    converse(trained, Options(1), typed_lines())
    out = capsys.readouterr().out
    assert "error: Unknown entity 'b\ufffd'" in out
    assert re.search(r"^1 +f +6", out, re.MULTILINE)


def test_answers(trained):
    """b likes f 3 * 2, c 2 * 2, a 1 * 2; d and b are known. Of heads of a, b and c are known."""
    columns = "head relation tail rank entity label score probability known_from"
    assert rows_of(report_answers(Predictor(trained, Options(2)), QUESTIONS, False), columns) == [
        ("b", "likes", "?", 1, "f", None, 6.0, logistic(6), None),
        ("b", "likes", "?", 2, "c", "Cleo", 4.0, logistic(4), None),
        ("?", "rules", "a", 1, "f", None, 3.0, logistic(3), None),
        ("?", "rules", "a", 2, "a", "Ann", 1.0, logistic(1), None),
    ]


def test_answers_as_tables(trained, capsys):
    options = Options(3, include_known=True)
    out = written(capsys, report_answers(Predictor(trained, options), QUESTIONS[1:], True), "table")
    note, empty, *lines = out.splitlines()
    assert note.startswith("probability: of a true triple against one corrupted at random, at even")
    assert empty == ""
    assert lines == [
        "(?, rules, a (Ann))",
        "rank  entity  label  score  probability  known from",
        "1          f         3.000       0.8808",
        "2          b         2.000       0.7311       train",
        "3          c   Cleo  2.000       0.7311        test",
    ]


def test_answers_say_that_known_ones_are_left_out(trained, capsys):
    out = written(capsys, report_answers(Predictor(trained, Options(2)), QUESTIONS, False), "table")
    assert "Known facts are left out; --include_known shows them." in out.splitlines()[:2]


def test_probabilities_of_answers(trained, capsys):
    options = Options(6, include_known=True, probability="answer")
    predictor = Predictor(trained, options)
    out = written(capsys, report_answers(predictor, QUESTIONS[1:], False), "table")
    assert "that it is an answer among all 6 entities" in out.splitlines()[0]
    out = written(capsys, report_answers(predictor, QUESTIONS[1:], False), "json")
    found = [answer["probability"] for answer in json.loads(out)]
    assert found == sorted(found, reverse=True)
    assert 0 <= found[-1] <= found[0] <= 1
    out = written(capsys, report_missing(predictor, "likes"), "json")
    assert all(0 <= fact["probability"] <= 1 for fact in json.loads(out))


def test_missing_facts(trained):
    columns = "relation rank head head_label tail tail_label score probability"
    report = report_missing(Predictor(trained, Options(2, candidates="seen")), "LIKES")
    assert rows_of(report, columns) == [
        ("likes", 1, "b", None, "c", "Cleo", 4.0, logistic(4)),
        ("likes", 2, "b", None, "a", "Ann", 2.0, logistic(2)),
    ]


def test_explanations_come_with_labels(trained, capsys):
    """All positive numbers have the cosine 1; of equal ones the first in the alphabet."""
    alike = {"answer_similarity": 1.0, "given_similarity": 1.0}
    fact = {
        "relation": "likes",
        "head": "c",
        "head_label": "Cleo",
        "tail": "a",
        "tail_label": "Ann",
    }
    report = report_missing(Predictor(trained, Options(1, candidates="seen", explain=1)), "likes")
    (row,) = json.loads(written(capsys, report, "json"))
    assert row["because"] == [{**fact, **alike}]

    fact |= {"relation": "rules", "head": "b", "head_label": None}
    report = report_answers(Predictor(trained, Options(1, explain=1)), QUESTIONS[1:], False)
    (row,) = json.loads(written(capsys, report, "json"))
    assert row["because"] == [{**fact, **alike}]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--relation=r"], "Received: --relation."),
        (["--head=a", "--tail=b", "--relation=r"], "Received: --head, --tail, --relation."),
        (["--queries=q.tsv", "--relation=r"], "Received: --relation, --queries."),
        (["--missing", "--relation=r", "--include_known"], "leave --include_known out."),
        (["--queries=nowhere.tsv"], "Cannot read nowhere.tsv: No such file or directory."),
    ],
)
def test_refused_before_tensorflow(tmp_path, flags, message):
    code, out, err = commands.launch_without(
        "tensorflow keras", "trainers.predict", f"--run_dir={tmp_path}", *flags
    )
    assert (code, out) == (1, "")
    assert err.startswith("error: ")
    assert message in err
