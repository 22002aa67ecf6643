"""The warm-up file of a version: what the server will parse and run before it offers the model."""

import pytest
import tensorflow as tf

from tests.serving import load_session, signatures_of

SIGNATURES = {
    "serving_default",
    "predict_tails",
    "predict_heads",
    "score_triples",
    "rank_tails",
    "rank_heads",
}


@pytest.fixture(scope="module")
def requests(exported):
    """The predict requests of the file, read with the classes that the server is built on."""
    reason = "needs tensorflow-serving-api (pip install -e '.[test]')"
    log = pytest.importorskip("tensorflow_serving.apis.prediction_log_pb2", reason=reason)
    path = exported / "assets.extra" / "tf_serving_warmup_requests"
    records = tf.data.TFRecordDataset(str(path)).as_numpy_iterator()
    logs = [log.PredictionLog.FromString(record) for record in records]
    assert {entry.WhichOneof("log_type") for entry in logs} == {"predict_log"}
    return [entry.predict_log.request for entry in logs]


def test_one_request_for_each_signature(requests):
    assert {request.model_spec.signature_name for request in requests} == SIGNATURES
    assert len(requests) == len(SIGNATURES)


def test_every_request_runs_and_finds_its_names(exported, requests):
    with load_session(exported) as ask:
        for request in requests:
            inputs = {name: tf.make_ndarray(proto) for name, proto in request.inputs.items()}
            signature = request.model_spec.signature_name
            assert set(inputs) == set(signatures_of(exported)[signature].inputs)
            answer = ask(signature, **inputs)
            assert answer["status"].tolist() == [b"OK"]


def test_names_are_those_of_the_graph(graph, requests):
    (request,) = [r for r in requests if r.model_spec.signature_name == "score_triples"]
    names = {name: tf.make_ndarray(proto).tolist() for name, proto in request.inputs.items()}
    # The first relation, "%25 größer", is escaped in the asset file.
    assert names == {
        "head": [graph.entities.names[0].encode()],
        "relation": ["%25 größer".encode()],
        "tail": [graph.entities.names[0].encode()],
    }
