import numpy as np
import pytest

from datasets import catalog
from quatre_tf import QuatRE
from quatre_tf.errors import DataError
from tests.quatre_tf.ranking.small_graph import small_graph, small_model
from trainers.prediction import missing_facts as module
from trainers.prediction.missing_facts import missing_facts

LIKES = 0


def found(candidates, top_k, **numbers):
    graph = small_graph()
    facts, scores = missing_facts(small_model(**numbers), graph, LIKES, top_k, candidates)
    assert (facts[:, 1] == LIKES).all()
    pairs = ["".join(graph.entities.names[row]) for row in facts[:, [0, 2]]]
    return list(zip(pairs, scores.tolist(), strict=True))


def test_seen_candidates_by_hand():
    """f is no head of train; c likes b is valid, b likes b a loop; then the ties, in order."""
    assert found("seen", 4) == [("bc", 4.0), ("ba", 2.0), ("ae", 0.0), ("be", 0.0)]


@pytest.mark.parametrize("candidates", ["seen", "all"])
@pytest.mark.parametrize("reciprocal", [False, True])
@pytest.mark.parametrize("query_tile", [2, 256])
def test_as_brute_force(family, monkeypatch, candidates, reciprocal, query_tile):
    monkeypatch.setattr(module, "_QUERY_TILE", query_tile)
    graph = catalog.load(str(family))
    model = QuatRE(graph.num_entities, 3, 4, reciprocal=reciprocal, embeddings_initializer="normal")
    known = set(map(tuple, graph.known.tolist()))
    for relation in range(3):
        train = graph.train[graph.train[:, 1] == relation]
        every = range(graph.num_entities)
        heads, tails = (every, every) if candidates == "all" else map(set, train.T[[0, 2]].tolist())
        open_facts = np.array(
            [
                (h, relation, t)
                for h in heads
                for t in tails
                if (h, relation, t) not in known and (candidates == "all" or h != t)
            ]
        )
        scores = model.score_triples(*open_facts.T).numpy()
        order = np.argsort(-scores)[:7]
        facts, best = missing_facts(model, graph, relation, 7, candidates)
        np.testing.assert_array_equal(facts, open_facts[order])
        np.testing.assert_allclose(best, scores[order], rtol=1e-4)


def test_a_broken_model_has_no_plausible_facts():
    with pytest.raises(DataError, match="entities holds NaN or infinite values"):
        found("seen", 3, c=float("nan"))
