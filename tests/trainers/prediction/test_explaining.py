import dataclasses

import numpy as np
import pytest

from quatre_tf import QuatRE
from tests.trainers.training.wiring import random_graph
from trainers.prediction import explaining
from trainers.prediction.explaining import Explainer


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
        {
            "relation": relations[r],
            "head": names[h],
            "head_label": None,
            "tail": names[t],
            "tail_label": None,
            "answer_similarity": pytest.approx(of_answer, abs=1e-5),
            "given_similarity": pytest.approx(of_given, abs=1e-5),
        }
        for of_answer, of_given, (h, r, t) in order
    ]


@pytest.mark.parametrize("asked", ["tail", "head"])
@pytest.mark.parametrize("tile", [1, 1 << 22])
def test_as_brute_force(monkeypatch, asked, tile):
    """A known fact is no evidence for itself, so the only one of its relation has none."""
    monkeypatch.setattr(explaining, "_TILE", tile)
    graph = random_graph(24, 3, 60)
    only = np.array([[4, 2, 5]], np.int32)
    graph = dataclasses.replace(
        graph, train=np.concatenate([graph.train[graph.train[:, 1] < 2], only])
    )
    model = QuatRE(24, 3, 4, embeddings_initializer="normal")
    facts = np.random.default_rng(2).integers(0, [24, 3, 24], size=[40, 3])
    facts = np.concatenate([only, facts, graph.train])
    found = Explainer(model, graph).explain(asked, facts, 3)
    assert found[0] == []
    table = model.entities.embeddings.numpy()
    for fact, evidence in zip(facts, found, strict=True):
        assert evidence == brute_force(graph, table, asked, fact, 3)
