"""The client against the server's faces, over REST and gRPC."""

import contextlib
import http.server
import pathlib
import pickle
import socket
import subprocess
import sys
import threading

import numpy as np
import pytest

from quatre_tf.errors import DataError
from saved_models.client import Candidate, Client, Prediction, Rank, TripleScore
from saved_models.transports import ServingError
from tests.saved_models.conftest import ENTITIES
from tests.server_double import SERVERS, load_servable

ROOT = pathlib.Path(__file__).parents[2]
NO_STUBS = "needs tensorflow-serving-api (pip install -e '.[serving]')"
QUESTIONS = [("日本", "is a"), ("cr\rname", "%25 größer"), (" padded ", "borders")]
TRIPLES = [("日本", "is a", "100%"), ("x\u2028y", "borders", "%0D"), ("New York", "is a", "日本")]


@pytest.fixture(scope="module")
def servable(exported):
    with load_servable(exported, "small") as servable:
        yield servable


@pytest.fixture(scope="module", params=sorted(SERVERS))
def address(request, servable):
    if request.param == "grpc":
        pytest.importorskip("tensorflow_serving", reason=NO_STUBS)
    with SERVERS[request.param](servable) as address:
        yield address


@pytest.fixture(scope="module")
def client(address):
    with Client(address, "small") as client:
        yield client


@pytest.fixture(scope="module")
def direct(servable):
    """The model without a server between."""
    return servable.ask


def columns(rows, *names):
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


@pytest.mark.parametrize("side", ["tails", "heads"])
@pytest.mark.parametrize(("top_k", "filtered"), [(3, True), (100, False)])
def test_predictions(client, direct, side, top_k, filtered):
    given = ("head", "relation") if side == "tails" else ("relation", "tail")
    rows = QUESTIONS if side == "tails" else [pair[::-1] for pair in QUESTIONS]
    options = {"top_k": top_k, "filtered": filtered}
    answers = getattr(client, f"predict_{side}")(rows, **options)
    expected = direct(f"predict_{side}", **columns(rows, *given), **options, type_constrained=False)
    assert len(answers) == len(rows)
    for row, answer in enumerate(answers):
        assert answer.status == "OK"
        found = answer.candidates
        assert [candidate.entity.encode() for candidate in found] == list(expected["entities"][row])
        for name, output in (("score", "scores"), ("probability", "probabilities")):
            numbers = [np.float32(getattr(candidate, name)) for candidate in found]
            assert numbers == list(expected[output][row])
        labels = [(candidate.label or "").encode() for candidate in found]
        assert labels == list(expected["labels"][row])
        assert "" not in {candidate.label for candidate in found}


def test_candidates_that_ran_out_are_left_out(client):
    # REST brings their scores as -Infinity.
    assert client.predict_tails([("New York", "is a")], top_k=2) == [Prediction("OK", ())]


def test_scores(client, direct):
    expected = direct("score_triples", **columns(TRIPLES, "head", "relation", "tail"))
    answers = client.score_triples(TRIPLES)
    assert [np.float32(answer.score) for answer in answers] == list(expected["score"])
    assert [np.float32(answer.probability) for answer in answers] == list(expected["probability"])


@pytest.mark.parametrize("side", ["tails", "heads"])
def test_ranks(client, direct, side):
    expected = direct(f"rank_{side}", **columns(TRIPLES, "head", "relation", "tail"))
    answers = getattr(client, f"rank_{side}")(TRIPLES)
    assert answers == [Rank("OK", rank) for rank in expected["rank"].tolist()]


def test_an_unknown_name_is_a_status_and_spoils_no_other_row(client):
    known = client.score_triples(TRIPLES[:1])
    rows = [("Atlantis", "is a", "100%"), *TRIPLES[:1], ("日本", "hates", "Atlantis")]
    first, second, third = client.score_triples(rows)
    assert first == TripleScore("UNKNOWN_HEAD", None, None)
    assert [second] == known
    assert third == TripleScore("UNKNOWN_RELATION", None, None)
    assert client.rank_heads([("日本", "is a", "")]) == [Rank("UNKNOWN_TAIL", None)]
    assert client.predict_tails([("", "is a")]) == [Prediction("UNKNOWN_HEAD", ())]


def test_nothing_asked(client):
    assert client.predict_heads([]) == client.score_triples([]) == client.rank_tails([]) == []


def test_signatures(client, servable):
    signatures = client.signatures()
    assert set(signatures) == set(servable.signatures)
    assert signatures["rank_tails"].inputs == {"head", "relation", "tail"}
    assert signatures["rank_tails"].outputs == {"rank", "status"}


def test_a_version_can_be_chosen(address):
    with Client(address, "small", version=1) as client:
        assert client.rank_tails(TRIPLES[:1])[0].status == "OK"


@pytest.mark.parametrize(
    ("name", "version", "message"),
    [("large", None, r"model 'large', rank_tails"), ("small", 9, r"model 'small', version 9")],
)
def test_a_model_that_is_not_there(address, name, version, message):
    with Client(address, name, version) as client, pytest.raises(ServingError) as caught:
        client.rank_tails(TRIPLES)
    assert caught.value.code == "NOT_FOUND"
    assert caught.match(f"^{address}, {message}.*: NOT_FOUND: Servable not found.*models.config")


def test_the_reason_of_a_refusal_is_told(client, address):
    with pytest.raises(ServingError, match="`top_k` must be a positive integer") as caught:
        client.predict_tails(QUESTIONS, top_k=0)
    assert caught.value.code == "INVALID_ARGUMENT"
    assert caught.match(f"^{address}, model 'small', predict_tails: .* saved_models/README.md")
    assert "\n" not in str(caught.value)


def closed_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@pytest.mark.parametrize("scheme", ["http", "grpc"])
def test_a_server_that_is_not_running(scheme):
    if scheme == "grpc":
        pytest.importorskip("tensorflow_serving", reason=NO_STUBS)
    message = "Is the server running, and is this its port"
    with (
        Client(f"{scheme}://127.0.0.1:{closed_port()}", "small") as client,
        pytest.raises(ServingError, match=message) as caught,
    ):
        client.rank_tails(TRIPLES)
    assert caught.value.code == "UNAVAILABLE"


@pytest.mark.parametrize("scheme", ["http", "grpc"])
def test_a_server_that_does_not_answer(scheme):
    if scheme == "grpc":
        pytest.importorskip("tensorflow_serving", reason=NO_STUBS)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"{scheme}://127.0.0.1:{server.getsockname()[1]}"
        with (
            Client(address, "small", timeout=0.2) as client,
            pytest.raises(ServingError, match="raise `timeout`") as caught,
        ):
            client.rank_tails(TRIPLES)
    assert caught.value.code == "DEADLINE_EXCEEDED"


@contextlib.contextmanager
def answering(status, body, promised=None):
    """Yields the address of something that is no TensorFlow Serving."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            if promised:
                self.send_header("Content-Length", str(promised))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            """Keeps quiet."""

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        thread.join()


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (200, b"<html>Welcome</html>", "UNAVAILABLE: the answer is not that of TensorFlow Serving"),
        (200, b'["outputs"]', "UNAVAILABLE: the answer is not that of TensorFlow Serving"),
        (503, b"<html>no backend</html>", "UNAVAILABLE: <html>no backend</html>"),
        (504, b"", "DEADLINE_EXCEEDED: Gateway Timeout"),
        # Some versions of the server escape as C does, which is no JSON.
        (400, rb'{ "error": "Missing \'inputs\'" }', "INVALID_ARGUMENT: .*Missing"),
        (418, b'{"error": "short and stout"}', "HTTP 418: short and stout"),
        (400, b'{"error": null}', 'INVALID_ARGUMENT: {"error": null}'),
    ],
)
def test_something_else_answers(status, body, message):
    with answering(status, body) as address, pytest.raises(ServingError, match=message):
        Client(address, "small").rank_tails(TRIPLES)


def test_a_refusal_that_is_cut_short():
    with (
        answering(400, b'{"error', promised=500) as address,
        pytest.raises(ServingError, match="INVALID_ARGUMENT: Bad Request"),
    ):
        Client(address, "small").rank_tails(TRIPLES)


class Answer:
    """A transport that gives one answer."""

    def __init__(self, **outputs):
        self.outputs = outputs

    def predict(self, signature, inputs):
        return self.outputs


def client_of(monkeypatch, **outputs):
    monkeypatch.setattr("saved_models.client.connect", lambda *_: Answer(**outputs))
    return Client("http://localhost:1", "small")


def test_probabilities_and_labels_of_models_that_have_them(monkeypatch):
    client = client_of(
        monkeypatch,
        status=["OK", "UNKNOWN_HEAD"],
        entities=[["Q1", "Q2", ""], ["", "", ""]],
        scores=[[2.0, 1.0, float("-inf")], [0.0, 0.0, 0.0]],
        probabilities=[[0.75, 0.5, 0.0], [0.0, 0.0, 0.0]],
        labels=[["universe", "", ""], ["", "", ""]],
    )
    known, unknown = client.predict_tails([("a", "b"), ("c", "d")])
    assert known.candidates == (
        Candidate("Q1", 2.0, 0.75, "universe"),
        Candidate("Q2", 1.0, 0.5, None),
    )
    assert unknown == Prediction("UNKNOWN_HEAD", ())


def test_another_model_under_the_name(monkeypatch):
    client = client_of(monkeypatch, status=["OK"], classes=[["cat"]])
    with pytest.raises(ServingError, match="the answer has no entities, probabilities, scores"):
        client.predict_tails([("a", "b")])


@pytest.mark.parametrize("rows", [["ab"], [("a",)], [("a", "b", "c")], [("a", 1)], [("a", b"b")]])
def test_rows_that_are_no_pairs_of_names(rows):
    with pytest.raises(TypeError, match=r"Rows are \(head, relation\)"):
        Client("http://localhost:1", "small").predict_tails(rows)


def test_errors_cross_processes():
    error = ServingError("http://localhost:1, model 'small'", "NOT_FOUND", "no\n such model.")
    again = pickle.loads(pickle.dumps(error))
    assert (again.code, again.detail) == ("NOT_FOUND", "no such model")
    assert str(again) == str(error)
    assert str(error).startswith("http://localhost:1, model 'small': NOT_FOUND: no such model. Com")


@pytest.mark.parametrize("address", ["localhost:8501", "ftp://localhost", "", "file:///etc"])
def test_addresses_of_no_transport(address):
    with pytest.raises(DataError, match="must start with http://, https:// or grpc://"):
        Client(address, "small")


def test_grpc_without_its_extra(monkeypatch):
    monkeypatch.delitem(sys.modules, "saved_models.grpc_transport", raising=False)
    monkeypatch.setitem(sys.modules, "tensorflow_serving.apis", None)
    with pytest.raises(DataError, match=r"gRPC needs tensorflow_serving.*'\.\[serving\]'"):
        Client("grpc://localhost:1", "small")


def test_rest_does_not_import_tensorflow():
    code = (
        "import sys\n"
        "from saved_models.client import Client\n"
        "Client('http://localhost:1', 'small')\n"
        "sys.exit(bool({'tensorflow', 'numpy', 'grpc'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_rest_requires_every_input_and_grpc_takes_defaults(address, servable):
    """The server's JSON parser does not know the defaults of a signature."""
    definition = servable.signatures["predict_tails"]
    assert set(definition.defaults) == {"top_k", "filtered", "type_constrained"}
    with Client(address, "small") as client:
        ask = client._transport.predict
        inputs = {"head": [ENTITIES[0]], "relation": ["is a"]}
        if address.startswith("grpc"):
            assert ask("predict_tails", inputs)["status"] == ["OK"]
        else:
            with pytest.raises(ServingError, match="Missing named input: filtered"):
                ask("predict_tails", inputs)
