"""Answers of an exported model, to which an entity was added."""

import numpy as np
import pytest
import tensorflow as tf

from quatre_tf import Graph, KGEModel, Run, Vocabulary
from quatre_tf.errors import DataError, UnknownNameError
from saved_models.new_entities import add_entities
from saved_models.scorer import Scorer
from saved_models.versions import export_scorer
from trainers.prediction.exported import Exported
from trainers.prediction.predicting import Options
from trainers.prediction.questions import make_questions


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """The folder of two versions, and the model of the newer one: five entities and `new`."""
    folder = tmp_path_factory.mktemp("exported")
    triples = np.array([[0, 0, 1], [1, 0, 2], [2, 1, 3], [3, 1, 4]], np.int32)
    names = Vocabulary(list("abcde"), "entity"), Vocabulary(["likes", "100 %"], "relation")
    graph = Graph("letters", *names, triples, triples[:0], triples[:0])
    model = KGEModel(5, 2, 3, "distmult")
    rng = np.random.default_rng(4)
    model.assign_tables({name: rng.normal(size=t.shape) for name, t in model.tables().items()})
    export_scorer(Scorer(model, graph), folder)
    added = add_entities(Run(model, graph, folder), np.array([["new", "likes", "b"]], object))
    export_scorer(Scorer(added.model, added.graph), folder)
    return folder, added


def test_the_newest_version_answers_about_an_added_entity(exported):
    folder, added = exported
    model = Exported(folder)
    questions = [model.question("new", "likes", "?"), model.question("", "100 %", "e")]
    report = model.report(questions, Options(top_k=3, include_known=True), titles=True)
    tables = added.model.tables()
    new, (likes, all_of_it) = tables["entity"][5], tables["relation"]
    queries = {"(new, likes, ?)": new * likes, "(?, 100 %, e)": tables["entity"][4] * all_of_it}
    for block, (title, query) in zip(report.blocks, queries.items(), strict=True):
        expected = tables["entity"] @ query
        best = np.argsort(-expected)[:3]
        assert block.title == title
        assert [row["entity"] for row in block.rows] == added.graph.entities.names[best].tolist()
        np.testing.assert_allclose([r["score"] for r in block.rows], expected[best], rtol=1e-5)


def test_many_questions_are_answered_in_their_order(exported, monkeypatch):
    model = Exported(exported[0])
    names = [*"abcde", "new"]
    questions = [model.question(name, "likes", "?") for name in names]
    questions[1::2] = [model.question("?", "likes", name) for name in names[1::2]]
    alone = [next(iter(model.report([q], Options(), False).blocks)).rows for q in questions]
    monkeypatch.setattr("trainers.prediction.exported._BATCH", 4)
    together = [block.rows for block in model.report(questions, Options(), titles=False).blocks]
    for rows, expected in zip(together, alone, strict=True):
        assert [row["entity"] for row in rows] == [row["entity"] for row in expected]
        np.testing.assert_allclose([r["score"] for r in rows], [r["score"] for r in expected], 1e-5)


def test_known_facts_are_left_out(exported):
    folder, _ = exported
    model = Exported(folder)
    question = model.question("new", "likes", "")
    (block,) = model.report([question], Options(), titles=False).blocks
    assert block.same == {"head": "new", "relation": "likes", "tail": "?"}
    assert "b" not in [row["entity"] for row in block.rows]
    assert [row["rank"] for row in block.rows] == [1, 2, 3, 4, 5]
    # As for a run.
    assert {row["label"] for row in block.rows} == {None}


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        (["zoe", "likes", "?"], UnknownNameError, "Unknown entity 'zoe'"),
        (["nev", "likes", "?"], UnknownNameError, "'nev'. Did you mean 'new'"),
        (["a", "10 %", "?"], UnknownNameError, "'10 %'. Did you mean '100 %'"),
        (["a", "eats", "?"], UnknownNameError, "Unknown relation 'eats'"),
        (["a", "likes", "b"], DataError, "either head or tail, received 'a' and 'b'"),
        (["?", "likes", "?"], DataError, "either head or tail"),
        (["", "likes", ""], DataError, "either head or tail"),
        # With nothing for the answer, "?" is a name.
        (["?", "likes", ""], UnknownNameError, r"Unknown entity '\?'"),
        (["a", "", "?"], UnknownNameError, "Unknown relation ''"),
    ],
)
def test_senseless_questions(exported, fields, error, message):
    with pytest.raises(error, match=message):
        Exported(exported[0]).question(*fields)


def test_lines_are_checked_before_any_is_answered(exported):
    lines = [("q:1", ["a", "likes", "?"]), ("q:3", ["a", "likes"]), ("q:4", ["zoe", "likes", "?"])]
    message = (
        r"2 lines cannot be asked.*\n  q:3: expected three fields.*\n  q:4: Unknown entity 'zoe'"
    )
    with pytest.raises(DataError, match=message):
        make_questions(lines, Exported(exported[0]).question)


def test_a_folder_without_a_model(tmp_path):
    with pytest.raises(DataError, match="holds no exported model"):
        Exported(tmp_path)
    # A model of another program.
    tf.saved_model.save(tf.Module(), tmp_path / "1")
    with pytest.raises(DataError, match=r"1 holds no exported model.*entities\.txt"):
        Exported(tmp_path)
