import numpy as np
import pytest

from benchmarks import random_graphs
from quatre_tf.data.query_batches import Queries


def test_zipf_ranks_by_hand():
    # With bound 7 the distribution function is log2(k + 2) / 3: rank 0 has a third of the mass,
    # ranks 1 and 2 the next third, 3 to 6 the last.
    uniforms = np.array([0.0, 0.33, 0.34, 0.52, 0.53, 0.66, 0.67, 0.99])
    assert random_graphs.zipf_ranks(uniforms, 7).tolist() == [0, 0, 1, 1, 2, 2, 3, 6]
    assert random_graphs.zipf_ranks(np.array([1 - 2**-53]), 7).tolist() == [6]


@pytest.mark.parametrize("name", random_graphs.SIZES)
def test_a_graph_of_the_size_of_a_benchmark(name):
    size = random_graphs.SIZES[name]
    graph = random_graphs.random_graph(size)
    shape = (graph.num_entities, graph.num_relations, len(graph.train))
    assert shape == (size.entities, size.relations, size.triples)
    assert len(np.unique(graph.train, axis=0)) == size.triples
    queries = Queries(graph)
    assert len(queries.targets) / len(queries) == pytest.approx(size.answers, rel=0.01)


def test_triples():
    triples = random_graphs.zipf_triples(3_000, seed=1)
    assert (triples.shape, triples.dtype) == ((15_000, 3), np.int32)
    heads, relations, tails = triples.T
    assert set(np.bincount(heads)) == {5}
    assert tails.max() < 3_000
    # The first rank has log(2) / log(3001) = 8.7 % of the tails: 1,299 of 15,000, +- 5 sigma.
    assert abs(np.bincount(tails).max() - 1_299) < 175
    # And log(2) / log(238) = 12.7 % of the relations.
    assert abs(np.bincount(relations)[0] - 1_900) < 205
    np.testing.assert_array_equal(random_graphs.zipf_triples(3_000, seed=1), triples)
    assert (random_graphs.zipf_triples(3_000, seed=2) != triples).any()
