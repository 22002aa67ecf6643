"""Every score function is served, with the scores and ranks of its formula."""

import numpy as np
import pytest

from quatre_tf import Graph, KGEModel, Run, Vocabulary, from_tables
from quatre_tf.errors import DataError
from saved_models.new_entities import add_entities
from saved_models.scorer import Scorer
from saved_models.versions import export_scorer
from tests import systems
from tests.serving import load_session


def random_model(case, num_entities, num_relations):
    model = KGEModel(num_entities, num_relations, case.dim, case.name, options=dict(case.options))
    model.assign_tables(systems.random_tables(case, model, seed=11))
    return model


def example(case):
    """A model, triples [3, n], their scores, and those of all tails and heads of the first ones."""
    if case.golden:
        tables, *known = systems.golden(case)
        return from_tables(case.name, tables, **case.options), *known
    model, everyone = random_model(case, 12, 2), np.arange(12)
    triples = np.random.default_rng(12).integers(0, [[12], [2], [12]], [3, 30])
    h, r, t = triples[:, :6, np.newaxis]
    ends = [(h, r, everyone), (everyone, r, t)]
    scores = [systems.scores(case, model.tables(), *columns) for columns in (triples, *ends)]
    return model, triples, *scores


# An export takes seconds, and what it computes depends on the similarity alone. test_scorer.py has
# the dot product, and `stranse` compares as `transr`.
OTHERS = ("quatre", "distmult", "autosf", "stranse")
SERVED = {str(case): case for case in systems.DISTINCT if case.name not in OTHERS}


@pytest.mark.parametrize("case", SERVED.values(), ids=str)
def test_served_scores_and_ranks(case, tmp_path):
    model, triples, of_triples, of_tails, of_heads = example(case)
    sizes = {"entity": model.num_entities, "relation": model.num_relations}
    names = {kind: [f"{kind}{i:02}" for i in range(size)] for kind, size in sizes.items()}
    entities, relations = (Vocabulary(names[kind], kind) for kind in names)
    graph = Graph("example", entities, relations, *[triples.T.astype(np.int32)] * 3)
    path = export_scorer(Scorer(model, graph), tmp_path)
    columns = zip((entities, relations, entities), triples, strict=True)
    head, relation, tail = (vocabulary.names[ids] for vocabulary, ids in columns)
    tolerance = {"rtol": case.tolerance, "atol": case.tolerance}
    first = slice(0, len(of_tails))
    options = {"top_k": len(entities), "filtered": False, "type_constrained": False}
    with load_session(path) as ask:
        found = ask("score_triples", head=head, relation=relation, tail=tail)["score"]
        np.testing.assert_allclose(found, of_triples, **tolerance)
        found = ask("predict_tails", head=head[first], relation=relation[first], **options)
        np.testing.assert_allclose(found["scores"], -np.sort(-of_tails), **tolerance)
        found = ask("predict_heads", relation=relation[first], tail=tail[first], **options)
        np.testing.assert_allclose(found["scores"], -np.sort(-of_heads), **tolerance)
        ranks = ask("rank_tails", head=head[first], relation=relation[first], tail=tail[first])
    known = set(map(tuple, triples.T.tolist()))
    expected = [
        1 + sum(s > row[t] for e, s in enumerate(row) if (h, r, e) not in known)
        for (h, r, t), row in zip(triples.T[first].tolist(), of_tails, strict=True)
    ]
    np.testing.assert_array_equal(ranks["rank"], expected)


@pytest.mark.parametrize("case", systems.DISTINCT, ids=str)
def test_entities_are_added_where_scores_are_linear(case, graph, tmp_path):
    model = random_model(case, graph.num_entities, graph.num_relations)
    triples = np.array([["Aland", graph.relations.names[0], graph.entities.names[1]]], object)
    trained = Run(model, graph, tmp_path)
    if model.score_function.multilinear:
        added = add_entities(trained, triples)
        assert added.model.num_entities == graph.num_entities + 1
    else:
        with pytest.raises(DataError, match="linear in an entity's embedding"):
            add_entities(trained, triples)
