import pytest

from datasets import catalog
from quatre_tf import QuatRE, Run, load_run
from quatre_tf.errors import DataError
from trainers.prediction import predicting
from trainers.prediction.predicting import Options, Predictor
from trainers.prediction.questions import Question


@pytest.fixture
def trained(family, tmp_path):
    graph = catalog.load(str(family))
    model = QuatRE(graph.num_entities, graph.num_relations, 4, embeddings_initializer="normal")
    return Run(model, graph, tmp_path)


def test_both_directions_in_one_batch_keep_their_order(trained, monkeypatch):
    """As if each were asked alone, however the questions fall into batches."""
    asked = [("p0", "tail"), ("p8", "head"), ("p1", "tail"), ("p9", "head"), ("p2", "tail")]
    questions = [Question("parent_of", *question) for question in asked]
    given = [{"head" if side == "tail" else "tail": name} for name, side in asked]
    alone = [trained.predict(relation="parent_of", top_k=4, **names) for names in given]
    monkeypatch.setattr(predicting, "_BATCH", 2)
    answers = list(Predictor(trained, Options(top_k=4)).answers(questions))
    assert [[a["entity"] for a in row] for row in answers] == [[a.entity for a in r] for r in alone]


def test_not_a_run_directory(tmp_path):
    with pytest.raises(DataError, match="There is no run directory"):
        load_run(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"holds no trained model: .*model\.keras is missing"):
        load_run(tmp_path)
