import dataclasses

import numpy as np
import pytest

from datasets import catalog
from quatre_tf import QuatRE
from quatre_tf.errors import DataError, UnknownNameError
from quatre_tf.ranking.evaluator import Evaluator
from quatre_tf.run import Trained, load_trained
from saved_models.calibration import Calibration
from saved_models.platt import Curves
from trainers.prediction import predicting
from trainers.prediction.predicting import Options, Predictor
from trainers.prediction.questions import Question


@pytest.fixture
def trained(family, tmp_path):
    graph = catalog.load(str(family))
    model = QuatRE(graph.num_entities, graph.num_relations, 4, embeddings_initializer="normal")
    return Trained(model, graph, tmp_path)


def test_tails_are_ordered_by_score_and_known_ones_left_out(trained):
    graph, model = trained.graph, trained.model
    head, relation = graph.entities.id("p0"), graph.relations.id("parent_of")
    scores = model.score_tails(np.array([head]), np.array([relation])).numpy()[0]
    known = {graph.entities.id("p8"), graph.entities.id("p9")}
    order = [e for e in np.argsort(-scores) if e not in known][:5]
    answers = predicting.complete(trained, head="p0", relation="parent_of", top_k=5)
    assert [a.entity for a in answers] == [graph.entities.names[e] for e in order]
    np.testing.assert_allclose([a.score for a in answers], scores[order], rtol=1e-5)
    assert not any(a.known for a in answers)


def test_heads_and_known_facts(trained):
    answers = predicting.complete(
        trained, tail="p8", relation="parent_of", top_k=99, include_known=True
    )
    assert len(answers) == trained.graph.num_entities
    splits = {split: trained.graph.split(split) for split in ("train", "valid", "test")}
    fact = [trained.graph.entities.id("p0"), trained.graph.relations.id("parent_of")]
    fact.append(trained.graph.entities.id("p8"))
    (split,) = [name for name, triples in splits.items() if fact in triples.tolist()]
    assert {a.entity: a.known for a in answers if a.known} == {"p0": split}


def test_unknown_name_has_the_closest_ones(trained):
    with pytest.raises(UnknownNameError, match=r"Unknown relation 'parentof'.*'parent_of'"):
        predicting.complete(trained, head="p0", relation="parentof")
    with pytest.raises(UnknownNameError, match=r"Unknown entity 'q8'"):
        predicting.complete(trained, tail="q8", relation="parent_of")


def test_both_directions_in_one_batch_keep_their_order(trained, monkeypatch):
    """As if each were asked alone, however the questions fall into batches."""
    asked = [("p0", "tail"), ("p8", "head"), ("p1", "tail"), ("p9", "head"), ("p2", "tail")]
    questions = [Question("parent_of", *question) for question in asked]
    alone = [
        predicting.complete(trained, relation="parent_of", top_k=4, **{side: name})
        for name, side in [(n, "head" if a == "tail" else "tail") for n, a in asked]
    ]
    monkeypatch.setattr(predicting, "_BATCH", 2)
    answers = list(Predictor(trained, Options(top_k=4)).answers(questions))
    assert [[a.entity for a in row] for row in answers] == [[a.entity for a in r] for r in alone]


def test_seen_candidates_are_those_of_the_place_in_train(trained):
    graph = trained.graph
    train = graph.train[graph.train[:, 1] == graph.relations.id("parent_of")]
    options = Options(top_k=99, include_known=True, candidates="seen")
    (answers,) = Predictor(trained, options).answers([Question("parent_of", "p0", "tail")])
    assert {a.entity for a in answers} == set(graph.entities.names[np.unique(train[:, 2])])


def test_probabilities_are_those_of_the_calibration(trained, monkeypatch):
    curves = np.tile([2.0, -0.5], (trained.graph.num_relations, 1))
    monkeypatch.setattr(
        predicting, "calibration_of", lambda _: Calibration(Curves(curves[0], curves))
    )
    for answer in predicting.complete(trained, head="p0", relation="parent_of"):
        expected = 1 / (1 + np.exp(-(2.0 * answer.score - 0.5)))
        assert answer.probability == pytest.approx(expected, rel=1e-5)


def test_no_probabilities_without_a_validation_split(trained, capsys):
    graph = dataclasses.replace(trained.graph, valid=np.zeros([0, 3], np.int32))
    answers = predicting.complete(
        dataclasses.replace(trained, graph=graph), head="p0", relation="parent_of"
    )
    assert [a.probability for a in answers] == [None] * 10
    assert "No calibrated probabilities: The valid split" in capsys.readouterr().err


def test_evaluator_agrees_with_a_naive_ranking(trained):
    """Ranks by hand, one triple after the other, from the unfiltered scores."""
    graph, model = trained.graph, trained.model
    known = {tuple(triple) for triple in graph.known.tolist()}
    ranks = {"head": [], "tail": []}
    for h, r, t in graph.test.tolist():
        tails = model.score_tails(np.array([h]), np.array([r])).numpy()[0]
        heads = model.score_heads(np.array([r]), np.array([t])).numpy()[0]
        rivals = [e for e in range(len(tails)) if e != t and (h, r, e) not in known]
        ranks["tail"].append(1 + np.sum(tails[rivals] > tails[t]))
        rivals = [e for e in range(len(heads)) if e != h and (e, r, t) not in known]
        ranks["head"].append(1 + np.sum(heads[rivals] > heads[h]))
    ranks["both"] = ranks["head"] + ranks["tail"]
    result = Evaluator(graph).evaluate(model, "test")["candidates"]["all"]
    for side, values in ranks.items():
        values = np.array(values)
        assert result[side]["mr"] == pytest.approx(np.mean(values))
        assert result[side]["mrr"] == pytest.approx(np.mean(1 / values))
        assert result[side]["hits@3"] == pytest.approx(np.mean(values <= 3))


def test_sample_is_the_same_at_every_call(trained):
    evaluator = Evaluator(trained.graph, seed=5)
    first = evaluator.evaluate(trained.model, "train", max_triples=6)
    assert first["num_triples"] == 6
    assert evaluator.evaluate(trained.model, "train", max_triples=6) == first


def test_not_a_run_directory(tmp_path):
    with pytest.raises(DataError, match="There is no run directory"):
        load_trained(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"holds no trained model: .*model\.keras is missing"):
        load_trained(tmp_path)


def test_broken_model_file(tmp_path):
    (tmp_path / "best").mkdir()
    (tmp_path / "best" / "model.keras").write_bytes(b"PK\x03\x04 not really")
    with pytest.raises(DataError, match="Cannot read the model"):
        load_trained(tmp_path)
