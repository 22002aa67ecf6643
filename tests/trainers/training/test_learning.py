"""Learning is real: the quick start against what frequencies alone can tell."""

import numpy as np

from datasets import catalog
from quatre_tf import Evaluator, QuatRE
from tests.trainers.training.misfortunes import export_little
from trainers.training import presets
from trainers.training.fitting import fit


def frequency_mrr(graph):
    """Filtered MRR, both sides, of ranking candidates by how often train has them in the slot.

    Realistic ties; candidates that never fill the slot of the relation share the last place.
    """
    known = {tuple(triple) for triple in graph.known.tolist()}
    reciprocals = []
    for triple in graph.test.tolist():
        for asked in (0, 2):
            of_relation = graph.train[graph.train[:, 1] == triple[1]][:, asked]
            counts = np.bincount(of_relation, minlength=graph.num_entities).astype(float)
            completed = [[*triple[:asked], e, *triple[asked + 1 :]] for e in range(len(counts))]
            rivals = np.array(
                [tuple(c) not in known or c[asked] == triple[asked] for c in completed]
            )
            target = counts[triple[asked]]
            better = np.sum(counts[rivals] > target)
            equal = np.sum(counts[rivals] == target) - 1
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
