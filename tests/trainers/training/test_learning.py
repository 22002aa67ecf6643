"""Learning is real: the quick start against what frequencies alone can tell."""

import numpy as np

from datasets import catalog
from quatre_tf import Evaluator, QuatRE
from tests import reference
from tests.trainers.training.misfortunes import export_little
from trainers.training import presets
from trainers.training.fitting import fit


def frequency_mrr(graph):
    """Filtered MRR, both sides, of ranking candidates by how often train has them in the slot.

    Realistic ties; candidates that never fill the slot of the relation share the last place.
    """
    heads, relations, tails = graph.train.T
    reciprocals = []
    for asked, entities in ((0, heads), (2, tails)):
        counts = np.zeros([graph.num_entities, graph.num_relations, 1])
        np.add.at(counts, (entities, relations, 0), 1)
        counts = np.broadcast_to(counts, [*counts.shape[:2], graph.num_entities])
        scores = counts if asked == 0 else np.transpose(counts)
        for triple in graph.test:
            better, equal = reference.competitors(scores, triple, asked, graph.known)
            reciprocals.append(1 / (1 + better + equal / 2))
    return np.mean(reciprocals)


def test_countries_is_learned_far_beyond_frequencies(tmp_path, monkeypatch):
    graph = catalog.load("countries")
    baseline = frequency_mrr(graph)
    assert 0.02 < baseline < 0.5
    config = presets.resolve("countries", "paper", {"epochs": 10, "validate_every": 10})
    export_little(monkeypatch)
    assert fit(config, tmp_path / "run").metrics()["mrr"] > baseline + 0.3
    model = QuatRE(graph.num_entities, graph.num_relations, 8)
    assert Evaluator(graph).evaluate(model, "test").metrics()["mrr"] < 0.1
