import numpy as np
import pytest

from datasets import catalog
from quatre_tf import Graph, QuatRE
from trainers.prediction import explaining
from trainers.prediction.explaining import Evidence, Explainer

# Embeddings in a plane, by their angle: cosines are read off.
ANGLES = {"ann": 0, "bob": 60, "eve": 90, "art": 0, "jazz": 60, "law": 90, "moss": 180}
TRAIN = ["ann likes art", "ann likes law", "bob likes jazz", "eve likes jazz", "eve hates moss"]


def plane():
    columns = list(zip(*(fact.split() for fact in TRAIN), strict=True))
    graph = Graph.from_names("plane", dict.fromkeys(("train", "valid", "test"), columns))
    model = QuatRE(graph.num_entities, graph.num_relations, 1)
    degrees = np.radians([ANGLES[name] for name in graph.entities.names])
    table = np.zeros([graph.num_entities, 4])
    table[:, 0], table[:, 2] = np.cos(degrees), np.sin(degrees)
    # Lengths do not matter.
    model.entities.embeddings.assign(table * np.arange(1, len(table) + 1)[:, np.newaxis])
    return graph, model


def explained(asked, fact, count=9):
    graph, model = plane()
    head, relation, tail = fact.split()
    ids = [graph.entities.id(head), graph.relations.id(relation), graph.entities.id(tail)]
    (found,) = Explainer(model, graph).explain(asked, np.array([ids]), count)
    return [
        (f"{e.head} {e.relation} {e.tail}", e.answer_similarity, e.given_similarity) for e in found
    ]


def test_a_known_fact_is_no_evidence_for_itself():
    assert next(fact for fact, *_ in explained("tail", "bob likes jazz")) == "eve likes jazz"
    assert explained("tail", "eve hates moss") == []
    assert [fact for fact, *_ in explained("tail", "ann likes art", 1)] == ["bob likes jazz"]


def brute_force(graph, table, asked, fact, count):
    """One known fact after the other."""
    given, answer = (0, 2) if asked == "tail" else (2, 0)
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    best = {}
    for known in graph.train.tolist():
        if known[1] != fact[1] or known == list(fact):
            continue
        similarities = [unit[known[end]] @ unit[fact[end]] for end in (answer, given)]
        best[known[answer]] = max(best.get(known[answer], (-2, -2, ())), (*similarities, known))
    order = sorted(best.values(), key=lambda row: row[:1], reverse=True)[:count]
    names, relations = graph.entities.names, graph.relations.names
    return [
        Evidence(names[h], relations[r], names[t], *(pytest.approx(s, abs=1e-5) for s in found))
        for *found, (h, r, t) in order
    ]


@pytest.mark.parametrize("asked", ["tail", "head"])
@pytest.mark.parametrize("tile", [1, 1 << 22])
def test_as_brute_force(family, monkeypatch, asked, tile):
    monkeypatch.setattr(explaining, "_TILE", tile)
    graph = catalog.load(str(family))
    model = QuatRE(graph.num_entities, 3, 4, embeddings_initializer="normal")
    rng = np.random.default_rng(2)
    facts = rng.integers([0, 0, 0], [24, 3, 24], size=[40, 3])
    facts = np.concatenate([facts, graph.train[:9]])
    found = Explainer(model, graph).explain(asked, facts, 3)
    table = model.entities.embeddings.numpy()
    for fact, evidence in zip(facts, found, strict=True):
        assert list(evidence) == brute_force(graph, table, asked, fact, 3)
