from benchmarks import peers


def test_biggraph_and_ours_have_as_many_floats_and_negatives():
    (comparison,) = peers.COMPARISONS["biggraph"]
    peer = comparison.peer
    assert (comparison.dataset, peer["dimension"], peer["batch_size"]) == ("fb15k237", 512, 1000)
    for ours in comparison.ours.values():
        assert 4 * ours["embedding_dim"] == peer["dimension"]
        assert ours["num_candidates"] == peer["num_uniform_negs"] + peer["num_batch_negs"]
        assert ours["batch_size"] == peer["batch_size"]


def test_a_part_is_scaled_by_its_triples():
    # 64 of 3,134 triples in 128 s: 2 s each.
    assert peers.whole({"seconds": 128.0, "triples": 64}, 3_134) == 6_268.0


def test_ratios_are_those_of_each_round():
    # 10 / 1, 30 / 2 and 20 / 1; the ratio of the medians would be 20.
    found = peers.ratios([10.0, 30.0, 20.0], [1.0, 2.0, 1.0])
    assert found == {"median": 15.0, "least": 10.0, "greatest": 20.0}
