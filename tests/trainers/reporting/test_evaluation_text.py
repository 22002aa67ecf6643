"""What an evaluation looks like as text."""

import pathlib

import pytest

from quatre_tf.ranking.evaluation import evaluate_run
from quatre_tf.run import Trained
from tests.quatre_tf.ranking.small_graph import small_graph, small_model
from trainers.reporting import evaluation_text as report


@pytest.fixture
def trained():
    return Trained(small_model(), small_graph(), pathlib.Path("runs/one"))


def test_report_says_what_figures_may_claim(trained):
    text = report.whole_evaluation(evaluate_run(trained, compare_with=trained))
    for part in (
        "Filtered ranking, test split: 4 triples, realistic ties",
        "All entities (paper: _1)",
        "answers included (paper: _2).\n2 of the heads and 0 of the tails",
        "Type constraint from train only.\n2 of the heads",
        "Equal scores make a difference",
        "all splits (as the paper); all entities",
        "By relation; all entities",
        "1 of 4 triples have an entity that train does not have",
        "Difference to",
    ):
        assert part in text
    assert max(map(len, text.splitlines())) <= 120


def test_report_shows_twenty_relations(trained):
    result = evaluate_run(trained)
    likes = result["relations"]["all"]["likes"]
    long = "/people/person/" * 5 + "born"
    result["relations"]["all"] = {long: likes} | {f"r{i}": likes for i in range(29)}
    text = report.whole_evaluation(result)
    assert "the 20 most frequent of 30; all entities" in text
    assert "r18" in text
    assert "r19" not in text
    assert "...person/" in text or "person/born" in text
    assert max(map(len, text.splitlines())) <= 120
