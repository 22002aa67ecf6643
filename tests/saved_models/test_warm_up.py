"""The warm-up file of a version: what the server will parse and run before it offers the model."""

import pytest
import tensorflow as tf

from tests.serving import signatures_of


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


def test_every_signature_is_asked_for_a_known_name(exported, requests, ask_session):
    signatures = signatures_of(exported)
    assert sorted(request.model_spec.signature_name for request in requests) == sorted(signatures)
    for request in requests:
        inputs = {name: tf.make_ndarray(proto) for name, proto in request.inputs.items()}
        signature = request.model_spec.signature_name
        assert set(inputs) == set(signatures[signature].inputs)
        assert ask_session(signature, **inputs)["status"].tolist() == [b"OK"]
        if signature == "score_triples":
            # The first relation is escaped in the asset file.
            assert inputs["relation"].tolist() == ["%25 größer".encode()]
