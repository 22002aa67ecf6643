"""Whole evaluations on a graph of a dozen triples."""

import dataclasses
import pathlib

import pytest

from quatre_tf.data.candidate_sets import CANDIDATE_SETS
from quatre_tf.errors import ConfigError
from quatre_tf.ranking.evaluation import Options, evaluate_runs
from quatre_tf.runs.run import Run
from tests.quatre_tf.ranking.small_graph import small_graph, small_model


@pytest.fixture
def trained():
    return Run(small_model(), small_graph(), pathlib.Path("runs/one"))


@pytest.fixture
def results(trained):
    return evaluate_runs({"": trained})


def test_every_figure_has_one_row(results):
    assert (results.split, results.num_triples, results.tie_policy) == ("test", 4, "realistic")
    assert results.candidates == CANDIDATE_SETS
    groups = [(row.group_by, row.group, row.tie_policy) for row in results.rows]
    assert list(dict.fromkeys(groups)) == [
        ("", "", "realistic"),
        *(("", "", "optimistic"), ("", "", "pessimistic")),
        *(("relation", "likes", "realistic"), ("relation", "rules", "realistic")),
        *(("category", "M-1", "realistic"), ("category", "M-M", "realistic")),
        ("train_category", "1-1", "realistic"),
        ("entities", "unseen", "realistic"),
    ]
    places = [row._replace(value=0, low=None, high=None) for row in results.rows]
    assert len(set(places)) == len(places)
    # Nine groups of 45 metrics, an index for each set and side, unseen answers for two sides.
    assert len(places) == 9 * 45 + 9 + 6
    # Of heads and of tails, set by set.
    unseen = [row.value for row in results.select(metric="unseen_answers")]
    assert unseen == [0, 0, 2, 0, 2, 0]


def test_all_tie_policies_are_there_when_they_differ(results):
    tails = {
        policy: results.metrics(side="tail", tie_policy=policy)["mr"]
        for policy in ("optimistic", "realistic", "pessimistic")
    }
    assert tails == {"optimistic": 12 / 4, "realistic": 13 / 4, "pessimistic": 14 / 4}


def test_tie_policies_are_left_out_when_they_agree(trained):
    model = small_model(a=1.5, b=2.25, c=2.5, d=-1, e=0.5)
    results = evaluate_runs({"": dataclasses.replace(trained, model=model)})
    assert {row.tie_policy for row in results.rows} == {"realistic"}


def test_comparison(trained):
    other = Run(small_model(f=-3.0), small_graph(), pathlib.Path("runs/other"))
    options = Options(candidates=("all", "train_type_constrained"))
    results = evaluate_runs({"one": trained, "other": other}, options, "other")
    for side in ("both", "head", "tail"):
        found = results.find("mrr", side=side, run="one", baseline="other")
        one, two = (results.metrics(side=side, run=run)["mrr"] for run in ("one", "other"))
        assert found.value == pytest.approx(one - two)
        assert found.low <= found.value <= found.high
        assert 0 < found.p_value <= 1
    assert len(results.select(baseline="other")) == 2 * 3 * 5
    assert results.select(run="other", baseline="one") == []


def test_equal_models_do_not_differ(trained):
    results = evaluate_runs({"one": trained, "two": trained}, baseline="two")
    found = results.find("mr", baseline="two")
    assert (found.value, found.low, found.high, found.p_value) == (0.0, 0.0, 0.0, 1.0)


def test_runs_that_cannot_be_compared(trained):
    graph = small_graph()
    shorter = dataclasses.replace(graph, test=graph.test[:-1])
    other = Run(small_model(), shorter, pathlib.Path("runs/other"))
    with pytest.raises(ConfigError, match=r"one and .*other are runs on different graphs"):
        evaluate_runs({"one": trained, "other": other})
    with pytest.raises(ConfigError, match="one cannot be compared with itself"):
        evaluate_runs({"one": trained}, baseline="one")


def test_intervals_of_groups_only_if_wanted(trained, results):
    assert results.select(group_by="relation")[0].low is None
    results = evaluate_runs({"": trained}, Options(group_intervals=True))
    for row in results.select(group_by="category"):
        assert row.low <= row.value <= row.high
