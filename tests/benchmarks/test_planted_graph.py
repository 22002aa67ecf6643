import numpy as np
import pytest

from benchmarks import planted_graph
from benchmarks.planted_graph import PlantedGraph

MEMBERS, CLUSTERS = 6, 3


@pytest.fixture
def graph(monkeypatch):
    sizes = {"MEMBERS": MEMBERS, "CLUSTERS": CLUSTERS, "VALID": 20, "TEST": 60}
    for name, value in {**sizes, "RELATIONS_OF_TYPE": 4}.items():
        monkeypatch.setattr(planted_graph, name, value)
    return PlantedGraph(92, 18, 500)


def known_triples(graph):
    return np.concatenate([graph.train, graph.valid, graph.test]).tolist()


def test_every_entity_is_trained_and_no_triple_occurs_twice(graph):
    assert graph.num_entities == 5 * MEMBERS * CLUSTERS
    assert set(graph.train[:, [0, 2]].flat) == set(range(graph.num_entities))
    triples = known_triples(graph)
    assert len(set(map(tuple, triples))) == len(triples) <= 500
    assert (len(graph.valid), len(graph.test)) == (20, 60)


def test_a_relation_leads_from_a_cluster_to_one_cluster(graph):
    tails = {}
    for head, relation, tail in known_triples(graph):
        tails.setdefault((head // MEMBERS, relation), set()).add(tail // MEMBERS)
    assert {len(clusters) for clusters in tails.values()} == {1}
    hub = {tail for (_, relation), clusters in tails.items() for tail in clusters if relation == 1}
    assert len(hub) == 1


def test_the_best_mrr_is_that_of_the_rule(graph):
    """The rule's score of an entity: its popularity if it can be the answer."""
    known = set(map(tuple, known_triples(graph)))
    # Clusters that a relation leads from, and to, by the cluster at the other side.
    heads, tails = {}, {}
    for head, relation, tail in known:
        types = np.flatnonzero((graph._relations_of_type == relation).any(axis=1))
        one = {head // MEMBERS}
        every = {kind * CLUSTERS + cluster for kind in types for cluster in range(CLUSTERS)}
        heads[relation, tail // MEMBERS] = every if relation % 16 == 1 else one
        tails[relation, head // MEMBERS] = {tail // MEMBERS}
    reciprocal = []
    for head, relation, tail in graph.test.tolist():
        for answer, clusters, triple_of in (
            (tail, tails[relation, head // MEMBERS], lambda e, h=head, r=relation: (h, r, e)),
            (head, heads[relation, tail // MEMBERS], lambda e, t=tail, r=relation: (e, r, t)),
        ):
            entities = [c * MEMBERS + m for c in clusters for m in range(MEMBERS)]
            places = [e % MEMBERS for e in entities if triple_of(e) not in known]
            place = answer % MEMBERS
            ties = sum(other == place for other in places)
            reciprocal.append(1 / (1 + sum(other < place for other in places) + ties / 2))
    assert graph.best_mrr() == pytest.approx(np.mean(reciprocal))
