import dataclasses
import json
import pathlib

import pytest

from quatre_tf.data.candidate_sets import CANDIDATE_SETS
from quatre_tf.errors import ConfigError
from quatre_tf.ranking.evaluation import Options, evaluate_run
from quatre_tf.ranking.evaluator import Evaluator
from quatre_tf.run import Trained
from tests.quatre_tf.ranking.small_graph import small_graph, small_model

SIDES = {"both", "head", "tail"}
METRICS = {"mr", "mrr", "hits@1", "hits@3", "hits@10"}


@pytest.fixture
def trained():
    return Trained(small_model(), small_graph(), pathlib.Path("runs/one"))


@pytest.fixture
def result(trained):
    return evaluate_run(trained)


def test_keys_are_as_documented(result):
    assert set(result) == {
        "split",
        "num_triples",
        "tie_policy",
        "candidates",
        "adjusted_mean_rank_index",
        "intervals",
        "test_only_answers",
        "relations",
        "categories",
        "unseen_entities",
        "tie_policies",
    }
    assert tuple(result["candidates"]) == CANDIDATE_SETS
    for name in CANDIDATE_SETS:
        assert set(result["candidates"][name]) == SIDES
        assert set(result["adjusted_mean_rank_index"][name]) == SIDES
        assert set(result["intervals"][name]["both"]) == METRICS
        assert set(result["relations"][name]["likes"]) == {"num_triples", *SIDES}
        assert set(result["tie_policies"]["pessimistic"][name]) == SIDES
    assert set(result["categories"]) == {"all_splits", "train"}
    assert result["test_only_answers"]["type_constrained"] == {"head": 2, "tail": 0}
    assert json.loads(json.dumps(result, allow_nan=False)) == result


def test_figures_are_those_of_the_evaluator(trained, result):
    plain = Evaluator(trained.graph).evaluate(trained.model, "test")
    assert result["candidates"]["all"] == plain["candidates"]["all"]


def test_intervals_hold_the_figures(result):
    for name in CANDIDATE_SETS:
        for side in SIDES:
            for metric in METRICS:
                low, high = result["intervals"][name][side][metric]
                assert low <= result["candidates"][name][side][metric] <= high


def test_tie_policies_stand_side_by_side_when_they_differ(result):
    tails = {p: sets["all"]["tail"]["mr"] for p, sets in result["tie_policies"].items()}
    assert tails == {"optimistic": 12 / 4, "realistic": 13 / 4, "pessimistic": 14 / 4}
    assert result["tie_policies"]["realistic"] == result["candidates"]


def test_tie_policies_are_left_out_when_they_agree(trained):
    model = small_model(a=1.5, b=2.25, c=2.5, d=-1, e=0.5)
    result = evaluate_run(dataclasses.replace(trained, model=model))
    assert "tie_policies" not in result


def test_comparison(trained):
    other = Trained(small_model(f=-3.0), small_graph(), pathlib.Path("runs/other"))
    options = Options(candidates=("all", "train_type_constrained"))
    compared = evaluate_run(trained, options, other)["comparison"]
    assert set(compared) == {"run_dir", "all", "train_type_constrained"}
    assert compared["run_dir"] == "runs/other"
    one, two = (evaluate_run(t, options)["candidates"] for t in (trained, other))
    for side in SIDES:
        found = compared["all"][side]["mrr"]
        assert set(found) == {"difference", "interval", "p_value"}
        difference = one["all"][side]["mrr"] - two["all"][side]["mrr"]
        assert found["difference"] == pytest.approx(difference)
        assert found["interval"][0] <= difference <= found["interval"][1]
        assert 0 < found["p_value"] <= 1


def test_a_run_compared_with_itself(trained):
    found = evaluate_run(trained, compare_with=trained)["comparison"]["all"]["both"]["mr"]
    assert found == {"difference": 0.0, "interval": [0.0, 0.0], "p_value": 1.0}


def test_runs_on_different_graphs_are_not_compared(trained):
    graph = small_graph()
    shorter = dataclasses.replace(graph, test=graph.test[:-1])
    other = Trained(small_model(), shorter, pathlib.Path("runs/other"))
    with pytest.raises(ConfigError, match=r"one and .*other are runs on different graphs"):
        evaluate_run(trained, compare_with=other)


def test_the_same_seed_gives_the_same_result(trained, result):
    assert evaluate_run(trained, Options(seed=1)) == result
