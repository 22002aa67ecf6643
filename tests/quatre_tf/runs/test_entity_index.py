"""Answers by the index, compared with the exact ones."""

import sys

import numpy as np
import pytest

from quatre_tf import Graph, KGEModel, Run, Vocabulary
from quatre_tf.errors import DataError

ENTITIES, RELATIONS = 3_000, 3


@pytest.fixture(scope="module")
def make_run(tmp_path_factory):
    """Makes the run of a model whose entities are random."""
    rng = np.random.default_rng(2)
    sizes = [ENTITIES, RELATIONS, ENTITIES]
    known = np.unique(rng.integers(0, sizes, [20_000, 3]), axis=0).astype(np.int32)
    rng.shuffle(known)
    names = [
        Vocabulary([f"{kind}{number}" for number in range(size)], kind)
        for kind, size in (("entity", ENTITIES), ("relation", RELATIONS))
    ]
    graph = Graph("random", *names, known[:-2], known[-2:-1], known[-1:])

    def make(kind, **settings):
        model = KGEModel(ENTITIES, RELATIONS, 8, kind, **settings)
        model.assign_tables({n: rng.normal(size=t.shape) for n, t in model.tables().items()})
        return Run(model, graph, tmp_path_factory.getbasetemp())

    return make


@pytest.fixture(scope="module")
def run(make_run):
    return make_run("complex", reciprocal=True)


def asked(run):
    heads, relations, tails = run.graph.train[:40].T
    entities, names = run.graph.entities.names, run.graph.relations.names[relations]
    return [
        {"head": entities[heads].tolist(), "relation": names.tolist()},
        {"tail": entities[tails].tolist(), "relation": names.tolist()},
    ]


def scores_of(answers):
    return {answer.entity: answer.score for answer in answers}


@pytest.mark.parametrize("filtered", [True, False])
def test_an_index_that_looks_through_all_lists_misses_nothing(run, filtered):
    index = run.build_index(num_probes=ENTITIES)
    for question in asked(run):
        found = run.predict(**question, top_k=5, filtered=filtered, index=index)
        exact = run.predict(**question, top_k=5, filtered=filtered)
        for answers, expected in zip(found, exact, strict=True):
            assert [a.entity for a in answers] == [a.entity for a in expected]
            assert scores_of(answers) == pytest.approx(scores_of(expected), rel=1e-5)


def test_fewer_lists_miss_some_answers_and_the_scores_of_the_others_are_exact(run):
    index, (question, _) = run.build_index(num_probes=8), asked(run)
    found, exact = run.predict(**question, index=index), run.predict(**question)
    shares = []
    for answers, expected in zip(map(scores_of, found), map(scores_of, exact), strict=True):
        common = {entity: score for entity, score in answers.items() if entity in expected}
        shares.append(len(common) / len(expected))
        assert common == pytest.approx({entity: expected[entity] for entity in common}, rel=1e-5)
    assert 0.3 < np.mean(shares) < 1


def test_where_the_lists_run_out_there_are_fewer_answers(run):
    index = run.build_index(num_probes=1)
    answers = run.predict("entity0", "relation0", top_k=ENTITIES, index=index)
    assert 0 < len(answers) < ENTITIES / 2
    assert all(np.isfinite(answer.score) for answer in answers)


def test_there_are_no_more_answers_than_entities(run):
    index = run.build_index(num_probes=ENTITIES)
    answers = run.predict("entity0", "relation0", top_k=10**12, index=index, filtered=False)
    assert len(answers) == ENTITIES


def test_scores_must_be_inner_products(make_run):
    run = make_run("transe")
    with pytest.raises(DataError, match=r"by inner product.*Received: TransE\."):
        run.predict("entity0", "relation0", index=run.build_index())


def test_an_index_of_another_run_is_refused(run, make_run):
    with pytest.raises(DataError, match="Build it again"):
        run.predict("entity0", "relation0", index=make_run("complex").build_index())


def test_without_faiss_it_says_what_to_install(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(DataError, match="pip install faiss-cpu"):
        run.build_index()
