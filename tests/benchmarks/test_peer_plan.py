from benchmarks import peer_plan as plan


def test_biggraph_and_ours_have_as_many_floats_and_negatives():
    (comparison,) = plan.comparisons("biggraph")
    peer = comparison.peer
    assert (comparison.dataset, peer["dimension"], peer["batch_size"]) == ("fb15k237", 512, 1000)
    for ours in comparison.ours.values():
        given = ours["given"]
        assert 4 * given["embedding_dim"] == peer["dimension"]
        assert given["num_candidates"] == peer["num_uniform_negs"] + peer["num_batch_negs"]
        assert given["batch_size"] == peer["batch_size"]


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
