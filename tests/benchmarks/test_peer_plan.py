import json

import pytest

from benchmarks import peer_plan as plan
from trainers.training import presets

WORK = plan.Comparison("an epoch", "umls", "train", {"task": "training"}, {"one": {}, "two": {}})


def test_pykeen_does_the_paper_step_and_the_evaluation():
    training, evaluation = plan.comparisons("pykeen", num_test_triples=100)
    assert (training.dataset, training.split) == ("wn18rr", "train")
    same = {"embedding_dim": 256, "num_negatives": 5, "batch_size": 868, "learning_rate": 0.1}
    assert training.peer == {"task": "training", "warm_up": 5, **same}
    assert training.ours["paper"]["given"] == same
    assert (evaluation.dataset, evaluation.split) == ("wn18rr", "test")
    assert (evaluation.peer["num_triples"], evaluation.peer["embedding_dim"]) == (100, 256)
    assert [ours["epochs"] for ours in evaluation.ours.values()] == [5, 0]
    assert {ours["embedding_dim"] for ours in evaluation.ours.values()} == {256}


def test_biggraph_and_ours_have_as_many_floats_and_negatives():
    (comparison,) = plan.comparisons("biggraph")
    peer = comparison.peer
    assert (comparison.dataset, peer["dimension"], peer["batch_size"]) == ("fb15k237", 512, 1000)
    for ours in comparison.ours.values():
        given = ours["given"]
        assert 4 * given["embedding_dim"] == peer["dimension"]
        assert given["num_candidates"] == peer["num_uniform_negs"] + peer["num_batch_negs"]
        assert given["batch_size"] == peer["batch_size"]


@pytest.mark.parametrize("peer", plan.PEERS)
def test_our_settings_are_settings_of_a_run(peer):
    for comparison in plan.comparisons(peer, dim=8):
        for ours in comparison.ours.values():
            if ours["task"] == "training":
                config = presets.resolve(ours["dataset"], ours["recipe"], ours["given"])
                assert (config.embedding_dim, config.variant) == (8, "quatre")


def test_a_command_has_its_settings_as_one_argument():
    line = plan.command(["python", "x.py"], {"task": "training"}, {"folder": "a b", "threads": 2})
    assert line[:2] == ["python", "x.py"]
    assert [json.loads(argument) for argument in line[2:]] == [
        {"task": "training", "folder": "a b", "threads": 2}
    ]


def test_all_libraries_get_the_same_threads():
    variables = plan.environment({"PATH": "/bin", "OMP_NUM_THREADS": "64"}, 2, "/there")
    assert variables["PATH"] == "/bin"
    limits = {value for name, value in variables.items() if name.endswith("_NUM_THREADS")}
    assert limits == {"2"}
    assert variables["PYSTOW_HOME"] == "/there"


def test_a_part_is_scaled_by_its_triples():
    # 64 of 3,134 triples in 128 s: 2 s each.
    assert plan.whole({"seconds": 128.0, "triples": 64}, 3_134) == 6_268.0


def test_ratios_are_those_of_each_round():
    # 10 / 1, 30 / 2 and 20 / 1; the ratio of the medians would be 20.
    found = plan.ratios([10.0, 30.0, 20.0], [1.0, 2.0, 1.0])
    assert found == {"median": 15.0, "least": 10.0, "greatest": 20.0}


def test_table():
    seconds = {"pykeen": [10.0, 30.0, 20.0], "one": [1.0, 2.0, 1.0], "two": [0.01, 0.02, 0.02]}
    assert plan.table("pykeen", WORK, seconds) == [
        ["", "seconds", "PyKEEN / ours"],
        ["PyKEEN", "20.00", ""],
        ["ours: one", "1.00", "15.0 (10.0 to 20.0)"],
        ["ours: two", "0.02", "1,000.0 (1,000.0 to 1,500.0)"],
    ]
