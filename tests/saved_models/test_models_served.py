"""Every score function is served: in both loaders, with the scores and ranks of its formula."""

import numpy as np
import pytest

from quatre_tf import KGEModel, from_tables
from quatre_tf.data.graph import Graph
from quatre_tf.data.vocabulary import Vocabulary
from quatre_tf.errors import DataError
from quatre_tf.runs.run import Run
from saved_models.new_entities import add_entities
from saved_models.scorer import build_scorer
from saved_models.versions import export_scorer
from tests import systems
from tests.serving import LOADERS

# Served alike whatever the structure or the quaternion variant is.
CASES = {(case.name, str(case.options.get("norm"))): case for case in systems.CASES}.values()


@pytest.fixture(params=CASES, ids=str)
def case(request):
    return request.param


@pytest.fixture
def model(case, graph):
    model = KGEModel(
        graph.num_entities, graph.num_relations, 2, case.name, options=dict(case.options)
    )
    rng = np.random.default_rng(11)
    model.assign_tables({n: rng.normal(0, case.scale, t.shape) for n, t in model.tables().items()})
    return model


def test_served_scores_and_ranks(case, model, graph, tmp_path):
    path = export_scorer(build_scorer(model, graph), tmp_path)
    heads, relations, tails = graph.test.T
    names, everyone = graph.entities.names, np.arange(graph.num_entities)
    scores = systems.scores(case, model.tables(), heads[:, None], relations[:, None], everyone)
    known = {tuple(triple) for triple in graph.known.tolist()}
    expected = [
        1 + sum(row[e] > row[t] for e in everyone if (h, r, e) not in known)
        for (h, r, t), row in zip(graph.test.tolist(), scores, strict=True)
    ]
    columns = {"head": names[heads], "relation": graph.relations.names[relations]}
    for load in LOADERS.values():
        with load(path) as ask:
            ranks = ask("rank_tails", **columns, tail=names[tails])["rank"]
            np.testing.assert_array_equal(ranks, expected)
            found = ask("score_triples", **columns, tail=names[tails])["score"]
            wanted = scores[np.arange(len(tails)), tails]
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
            options = {"top_k": 3, "filtered": False, "type_constrained": False}
            best = ask("predict_tails", **columns, **options)["scores"]
            order = np.sort(scores, axis=1)[:, :-4:-1]
            np.testing.assert_allclose(best, order, rtol=1e-4, atol=1e-5)


def test_golden_scores_are_served(case, tmp_path):
    if case.golden is None:
        return
    tables, triples, of_triples, of_tails, of_heads = systems.golden(case)
    names = [f"e{i:02}" for i in range(len(tables["entity"]))], [f"r{i}" for i in range(6)]
    vocabularies = Vocabulary(names[0]), Vocabulary(names[1], "relation")
    graph = Graph("golden", *vocabularies, *[triples.T.astype(np.int32)] * 3)
    model = from_tables(case.name, tables, **case.options)
    path = export_scorer(build_scorer(model, graph), tmp_path)
    heads, relations, tails = (
        np.array(names[column == 1])[ids] for column, ids in enumerate(triples)
    )
    tolerance = {"rtol": case.tolerance, "atol": case.tolerance}
    options = {"top_k": 40, "filtered": False, "type_constrained": False}
    first = slice(0, len(of_tails))
    with LOADERS["python"](path) as ask:
        found = ask("score_triples", head=heads, relation=relations, tail=tails)["score"]
        np.testing.assert_allclose(found, of_triples, **tolerance)
        found = ask("predict_tails", head=heads[first], relation=relations[first], **options)
        np.testing.assert_allclose(found["scores"], -np.sort(-of_tails), **tolerance)
        found = ask("predict_heads", relation=relations[first], tail=tails[first], **options)
        np.testing.assert_allclose(found["scores"], -np.sort(-of_heads), **tolerance)


def test_entities_are_added_where_scores_are_linear(model, graph, tmp_path):
    triples = np.array([["Aland", graph.relations.names[0], graph.entities.names[1]]], object)
    trained = Run(model, graph, tmp_path)
    if model.score_function.multilinear:
        added = add_entities(trained, triples)
        assert added.model.num_entities == graph.num_entities + 1
    else:
        with pytest.raises(DataError, match="linear in an entity's embedding"):
            add_entities(trained, triples)
