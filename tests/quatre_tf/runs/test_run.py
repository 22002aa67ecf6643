"""A run as Python uses it; expected values are worked out in NumPy from the formulas."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

import quatre_tf
from quatre_tf.calibration.answer_probabilities import AnswerProbabilities
from quatre_tf.errors import DataError, UnknownNameError
from quatre_tf.model import KGEModel
from quatre_tf.records import Answer, Neighbor, RankedTriple
from quatre_tf.runs.best_model import save_best
from tests import reference, systems
from tests.quatre_tf.ranking.small_graph import NUMBERS, SPLITS, small_graph, small_model

CASES = [case for case in systems.DISTINCT if case.name in ("quatre", "transe", "toruse")]
LABELS = {"a": "Anna", "b": "Bea"}
KNOWN = [tuple(triple.split()) for text in SPLITS.values() for triple in text.split(", ")]


def saved(model, folder):
    graph = dataclasses.replace(small_graph(), labels=LABELS)
    graph.save(folder / "graph")
    save_best(model, folder)
    (folder / "config.json").write_text('{"recipe": "paper"}')
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The score of (h, r, t) is the product of their numbers: a 1, b 2, c 2, d -1, e 0, f 3."""
    return quatre_tf.load_run(saved(small_model(), tmp_path_factory.mktemp("run")))


def random_model(case, reciprocal=False):
    model = KGEModel(6, 2, 4, case.name, reciprocal, options=dict(case.options))
    model.assign_tables(systems.random_tables(case, model, seed=5))
    return model


@pytest.fixture(scope="module", params=CASES, ids=str)
def any_run(request, tmp_path_factory):
    folder = saved(random_model(request.param), tmp_path_factory.mktemp("any"))
    found = quatre_tf.load_run(folder)
    everyone = np.arange(6)
    expected = systems.scores(
        request.param,
        found.model.tables(),
        everyone[:, None, None],
        np.arange(2)[None, :, None],
        everyone,
    )
    return found, expected


def best(answers):
    return [(answer.entity, answer.score) for answer in answers]


def test_tails_without_known_facts_best_first(run):
    # Known: a likes b, c and d.
    answers = run.predict("a", "likes")
    assert answers == [*(Answer("f", 3.0, None), Answer("a", 1.0, "Anna"), Answer("e", 0.0, None))]


def test_heads_by_keyword_with_known_facts(run):
    answers = run.predict(relation="likes", tail="d", top_k=2, filtered=False)
    assert best(answers) == [("d", 1.0), ("e", 0.0)]


def test_several_questions(run):
    several = run.predict(["a", "d"], "likes", top_k=1)
    assert list(map(best, several)) == [[("f", 3.0)], [("a", -1.0)]]
    assert list(map(best, run.predict(tail=["a"], relation=["rules"]))) == [
        [("f", 3.0), ("a", 1.0), ("e", 0.0), ("d", -1.0)]
    ]
    assert run.predict([], "likes") == []


def test_more_questions_than_are_answered_at_once(run):
    names = sorted(NUMBERS) * 100
    assert run.predict(names, "rules") == run.predict(sorted(NUMBERS), "rules") * 100


@pytest.mark.parametrize("side", ["tail", "head"])
def test_probabilities_are_those_of_the_fitted_curves(run, side):
    curves = AnswerProbabilities(run.model, run.graph)
    known = {"head": ["a", "f"]} if side == "tail" else {"tail": ["a", "f"]}
    several = run.predict(relation="rules", **known, probabilities=True)
    assert sum(map(len, several)) > 5
    for answers in several:
        scores = np.array([answer.score for answer in answers])
        expected = curves.probabilities(side, np.full(len(scores), 1), scores)
        assert [answer.probability for answer in answers] == pytest.approx(expected)


@pytest.mark.parametrize("names", [{}, {"head": "a", "tail": "b"}])
def test_exactly_one_end_is_given(run, names):
    with pytest.raises(DataError, match=r"exactly one of `head` and `tail`\. Received: .*relation"):
        run.predict(relation="likes", **names)


def test_questions_that_make_no_sense(run):
    with pytest.raises(DataError, match=r"Expected `relation` .* Received: head"):
        run.predict("a")
    with pytest.raises(DataError, match="Received: 3 entities, 2 relations"):
        run.predict(["a", "b", "c"], ["likes", "rules"])
    with pytest.raises(ValueError, match="`top_k` must be a positive integer"):
        run.predict("a", "likes", top_k=0)
    with pytest.raises(UnknownNameError, match=r"Unknown relation 'like'\. Did you mean 'likes'"):
        run.predict("a", "like")
    with pytest.raises(UnknownNameError, match="Unknown entity 'Berta'"):
        run.neighbors("Berta")


def test_names_and_labels_whatever_their_case(run):
    assert run.predict("anna", "LIKES") == run.predict("a", "likes")
    assert run.rank([("Anna", "Rules", "F")]) == run.rank([("a", "rules", "f")])
    np.testing.assert_array_equal(
        run.score([("A", "likes", "b")]), run.score([("a", "likes", "b")])
    )
    np.testing.assert_array_equal(run.embeddings(["Anna", "f"]), run.embeddings(["a", "f"]))
    assert run.neighbors("ANNA") == run.neighbors("a")


@pytest.mark.parametrize("triples", [[("a", "likes")], ("a", "likes", "b"), "abc"])
def test_triples_are_three_names_each(run, triples):
    with pytest.raises(DataError, match=r"Expected triples \[n, 3\]"):
        run.score(triples)


def test_every_score_function(any_run):
    run, expected = any_run
    entities, relations = run.graph.entities.names, run.graph.relations.names
    triples = [(h, r, t) for h in entities for r in relations for t in entities]
    np.testing.assert_allclose(run.score(triples), expected.ravel(), rtol=1e-4, atol=1e-5)
    tails = run.predict(entities, "likes", filtered=False)
    heads = run.predict(relation="likes", tail=entities)
    for i, name in enumerate(entities):
        order = np.argsort(-expected[i, 0])
        assert [answer.entity for answer in tails[i]] == list(entities[order])
        np.testing.assert_allclose(
            [answer.score for answer in tails[i]], expected[i, 0, order], rtol=1e-4, atol=1e-5
        )
        order = entities[np.argsort(-expected[:, 0, i])]
        unknown = [head for head in order if (head, "likes", name) not in KNOWN]
        assert [answer.entity for answer in heads[i]] == unknown


def test_ranks_of_every_score_function(any_run):
    """The filtered ranks, realistic ties."""
    run, expected = any_run

    def ids(h, r, t):
        return "abcdef".index(h), ["likes", "rules"].index(r), "abcdef".index(t)

    known, ranked = [ids(*triple) for triple in KNOWN], []
    for triple in [("a", "likes", "d"), ("f", "rules", "f"), ("c", "rules", "a")]:
        counts = [reference.competitors(expected, ids(*triple), place, known) for place in (0, 2)]
        ranked.append(RankedTriple(*triple, *(1 + better + equal / 2 for better, equal in counts)))
    assert run.rank([(row.head, row.relation, row.tail) for row in ranked]) == ranked


def test_queries_find_answers_among_embeddings(any_run):
    run, expected = any_run
    queries = run.query(["a", "f"], ["rules", "likes"]), run.query(relation="likes", tail="b")
    assert [query.dtype for query in queries] == [np.float32] * 2
    if run.model.score_function.similarity.linear:
        table = run.embeddings()
        np.testing.assert_allclose(table @ queries[0].T, expected[[0, 5], [1, 0]].T, rtol=1e-4)
        np.testing.assert_allclose(table @ queries[1], expected[:, 0, 1], rtol=1e-4)


def test_ties_count_half(run):
    # Scores of (e, likes, ?) are all 0; its known answer b does not compete with f.
    assert run.rank([("e", "likes", "f")])[0].tail_rank == 1 + 4 / 2
    assert run.rank([]) == []


def test_embeddings_are_copies(run):
    rows = run.embeddings(["f", "a"])
    np.testing.assert_array_equal(rows, [[3, 0, 0, 0], [1, 0, 0, 0]])
    assert (rows.dtype, rows.flags.c_contiguous) == (np.float32, True)
    for names in (None, "f", ["f"]):
        run.embeddings(names)[...] = 7.0
    np.testing.assert_array_equal(run.embeddings("f"), [3, 0, 0, 0])
    assert run.embeddings()[:, 0].tolist() == list(NUMBERS.values())
    assert best(run.predict("a", "likes", top_k=1)) == [("f", 3.0)]


def test_relation_embeddings_by_table(tmp_path):
    model = random_model(systems.CASES[0], reciprocal=True)
    run, tables = quatre_tf.load_run(saved(model, tmp_path)), model.tables()
    everything, one = run.relation_embeddings(), run.relation_embeddings("rules")
    assert set(everything) == {"relation", "head_rotation", "tail_rotation"}
    for name in everything:
        np.testing.assert_array_equal(everything[name], tables[name][:2])
        np.testing.assert_array_equal(one[name], tables[name][1])


def test_heads_of_a_reciprocal_model_are_tails_of_the_inverse_relation(tmp_path):
    model = random_model(systems.CASES[0], reciprocal=True)
    run = quatre_tf.load_run(saved(model, tmp_path))
    # The row of the inverse of likes is 2.
    scores = systems.scores(systems.CASES[0], model.tables(), 1, 2, np.arange(6))
    answers = run.predict(relation="likes", tail="b", filtered=False)
    names = run.graph.entities.names[np.argsort(-scores)]
    assert [answer.entity for answer in answers] == list(names)


def test_neighbors_by_cosine(run):
    """All embeddings lie on one line: the cosine is the sign of the product of two numbers."""
    found = run.neighbors("a")
    assert found[0] == Neighbor("b", 1.0, "Bea")
    assert [(n.entity, n.cosine) for n in found[1:]] == [("c", 1), ("f", 1), ("e", 0), ("d", -1)]
    assert len(run.neighbors("a", top_k=2)) == 2


def test_evaluate(run):
    """The ranks are worked out in tests/quatre_tf/ranking/test_evaluator.py."""
    results = run.evaluate("test", candidates=("all", "type_constrained"))
    assert results.candidates == ("all", "type_constrained")
    frame = results.to_pandas().query("metric == 'mr' and candidates == 'all'")
    expected = {"both": 20 / 8, "head": 7 / 4, "tail": 13 / 4}
    assert dict(zip(frame.side, frame.value, strict=True)) == expected
    with pytest.raises(ValueError, match="`candidates` must be one of 'all'"):
        run.evaluate("test", candidates=["most"])


def test_records_as_a_data_frame(run):
    columns = {"score": [3.0, 1.0], "label": [None, "Anna"], "probability": [None, None]}
    expected = pd.DataFrame({"entity": ["f", "a"], **columns})
    pd.testing.assert_frame_equal(run.predict("a", "likes", top_k=2).to_pandas(), expected)
    several = run.predict(["d", "a"], "likes", top_k=2).to_pandas()
    assert several["question"].tolist() == [0, 0, 1, 1]
    pd.testing.assert_frame_equal(
        several.query("question == 1").drop(columns="question").reset_index(drop=True), expected
    )


def test_settings_of_the_run(run, tmp_path):
    assert run.config == {"recipe": "paper"}
    assert repr(run) == f"Run({str(run.run_dir)!r})"
    with pytest.raises(DataError, match=r"Cannot read the settings .*config\.json"):
        _ = dataclasses.replace(run, run_dir=tmp_path).config


def test_models_with_nan_have_no_answers(run):
    broken = dataclasses.replace(run, model=small_model(c=np.nan))
    with pytest.raises(DataError, match="table of entities holds NaN"):
        broken.predict("a", "likes")
