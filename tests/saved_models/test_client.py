"""The client against a double of the server, and against servers that misbehave."""

import contextlib
import http
import http.client
import json
import socket
import threading

import numpy as np
import pytest

from saved_models.client import (
    Classification,
    Client,
    Prediction,
    Rank,
    ServingError,
    TripleScore,
)
from tests import commands
from tests.server_double import Servable, serve_rest

QUESTIONS = [("日本", "is a"), ("cr\rname", "%25 größer"), (" padded ", "borders")]
TRIPLES = [("日本", "is a", "100%"), ("x\u2028y", "borders", "%0D"), ("New York", "is a", "日本")]


@pytest.fixture(scope="module")
def servable(exported, ask_session):
    return Servable("small", exported, ask_session)


@pytest.fixture(scope="module")
def address(servable):
    with serve_rest(servable) as address:
        yield address


@pytest.fixture(scope="module")
def client(address):
    return Client(address, "small")


def columns(rows, *names):
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


@pytest.mark.parametrize("side", ["tails", "heads"])
@pytest.mark.parametrize(("top_k", "filtered"), [(3, True), (100, False)])
def test_predictions(client, servable, side, top_k, filtered):
    given = ("head", "relation") if side == "tails" else ("relation", "tail")
    rows = QUESTIONS if side == "tails" else [pair[::-1] for pair in QUESTIONS]
    options = {"top_k": top_k, "filtered": filtered}
    answers = getattr(client, f"predict_{side}")(rows, **options)
    expected = servable.ask(
        f"predict_{side}", **columns(rows, *given), **options, type_constrained=False
    )
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


@pytest.mark.parametrize(
    ("method", "outputs"),
    [
        ("score_triples", ["score", "probability"]),
        ("classify_triples", ["is_true", "score", "threshold"]),
        ("rank_tails", ["rank"]),
        ("rank_heads", ["rank"]),
    ],
)
def test_answers_about_triples(client, servable, method, outputs):
    expected = servable.ask(method, **columns(TRIPLES, "head", "relation", "tail"))
    assert set(expected.get("is_true", [False, True])) == {False, True}
    answers = getattr(client, method)(TRIPLES)
    assert [answer.status for answer in answers] == ["OK"] * len(TRIPLES)
    for name in outputs:
        received = [expected[name].dtype.type(getattr(answer, name)) for answer in answers]
        assert received == list(expected[name])


def test_an_unknown_name_is_a_status_and_spoils_no_other_row(client):
    known = client.score_triples(TRIPLES[:1])
    rows = [("Atlantis", "is a", "100%"), *TRIPLES[:1], ("日本", "hates", "Atlantis")]
    first, second, third = client.score_triples(rows)
    assert first == TripleScore("UNKNOWN_HEAD", None, None)
    assert [second] == known
    assert third == TripleScore("UNKNOWN_RELATION", None, None)
    unknown = Classification("UNKNOWN_HEAD", None, None, None)
    assert client.classify_triples(rows[:1]) == [unknown]
    assert client.rank_heads([("日本", "is a", "")]) == [Rank("UNKNOWN_TAIL", None)]
    assert client.predict_tails([("", "is a")]) == [Prediction("UNKNOWN_HEAD", ())]


def test_nothing_asked(client):
    assert client.predict_heads([]) == client.score_triples([]) == client.rank_tails([]) == []


def test_signatures(client, servable):
    signatures = client.signatures()
    assert set(signatures) == set(servable.signatures)
    assert signatures["rank_tails"].inputs == {"head", "relation", "tail"}
    assert signatures["rank_tails"].outputs == {"rank", "status"}


@pytest.mark.parametrize(
    ("name", "version", "message"),
    [("large", None, r"model 'large', rank_tails"), ("small", 9, r"model 'small', version 9")],
)
def test_a_model_that_is_not_there(address, name, version, message):
    with pytest.raises(ServingError) as caught:
        Client(address, name, version).rank_tails(TRIPLES)
    assert caught.value.code == "NOT_FOUND"
    assert caught.match(f"^{address}, {message}.*: NOT_FOUND: Servable not found.*models.config")


def test_the_reason_of_a_refusal_is_told(client, address):
    with pytest.raises(ServingError, match="`top_k` must be a positive integer") as caught:
        client.predict_tails(QUESTIONS, top_k=0)
    assert caught.value.code == "INVALID_ARGUMENT"
    assert caught.match(f"^{address}, model 'small', predict_tails: .* saved_models/README.md")
    assert "\n" not in str(caught.value)


def test_a_server_that_is_not_running():
    with socket.create_server(("127.0.0.1", 0)) as closed:
        client = Client(f"http://127.0.0.1:{closed.getsockname()[1]}", "small")
    with pytest.raises(ServingError, match="Is the server running, and is this its") as caught:
        client.rank_tails(TRIPLES)
    assert caught.value.code == "UNAVAILABLE"


def test_a_server_that_does_not_answer():
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = Client(f"http://127.0.0.1:{server.getsockname()[1]}", "small", timeout=0.2)
        with pytest.raises(ServingError, match="raise `timeout`") as caught:
            client.rank_tails(TRIPLES)
    assert caught.value.code == "DEADLINE_EXCEEDED"


@contextlib.contextmanager
def raw_server(answer):
    """Yields the address of a socket; `answer(connection)` runs for one request."""

    def run():
        with server.accept()[0] as connection:
            # All of it: what is left unread would reset the connection.
            with connection.makefile("rb") as request:
                headers = http.client.parse_headers(request) if request.readline() else {}
                request.read(int(headers.get("Content-Length", 0)))
            # The client may hang up at any point.
            with contextlib.suppress(OSError):
                answer(connection)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=run)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        thread.join()


def test_redirects_are_not_followed(address):
    def redirect(connection):
        target = f"{address}/v1/models/small:predict".encode()
        connection.sendall(b"HTTP/1.1 307 Moved\r\nLocation: " + target + b"\r\n\r\n")

    with raw_server(redirect) as gateway, pytest.raises(ServingError, match="HTTP 307: Moved"):
        Client(gateway, "small").rank_tails(TRIPLES)


def answering(status, body):
    """As `raw_server`, of something that is no TensorFlow Serving."""
    head = f"HTTP/1.1 {status} {http.HTTPStatus(status).phrase}\r\n\r\n".encode()
    return raw_server(lambda connection: connection.sendall(head + body))


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (200, b"<html>Welcome</html>", "UNAVAILABLE: the answer is not that of TensorFlow Serving"),
        (200, b"[" * 100_000, "UNAVAILABLE: the answer is not that of TensorFlow Serving"),
        (503, b"<html>no backend</html>", "UNAVAILABLE: <html>no backend</html>"),
        (504, b"", "DEADLINE_EXCEEDED: Gateway Timeout"),
        # Some versions of the server escape as C does, which is no JSON.
        (400, rb'{ "error": "Missing \'inputs\'" }', "INVALID_ARGUMENT: .*Missing"),
        (418, b'{"error": "short and \\u001bstout"}', r"HTTP 418: short and \\x1bstout"),
    ],
)
def test_something_else_answers(status, body, message):
    with answering(status, body) as address, pytest.raises(ServingError, match=message):
        Client(address, "small").rank_tails(TRIPLES)


PREDICTIONS = {
    "status": ["OK", "UNKNOWN_HEAD"],
    "entities": [["Q1", "Q2"], ["", ""]],
    "scores": [[2.0, 1.0], [0.0, 0.0]],
    "probabilities": [[0.75, 0.5], [0.0, 0.0]],
}


@pytest.mark.parametrize(
    "outputs",
    [
        None,
        ["OK", "OK"],
        {"status": ["OK", "OK"]},
        PREDICTIONS | {"status": ["OK"]},
        PREDICTIONS | {"scores": [[2.0], [0.0]]},
        PREDICTIONS | {"entities": [1, 2]},
        {name: rows[:1] for name, rows in PREDICTIONS.items()},
    ],
)
def test_answers_of_another_form(outputs):
    body = json.dumps({"outputs": outputs}).encode()
    message = "FAILED_PRECONDITION: the answer is not that of a QuatRE-TF model: .*README"
    with answering(200, body) as address, pytest.raises(ServingError, match=message):
        Client(address, "small").predict_tails(QUESTIONS[:2])


@pytest.mark.parametrize(
    "signatures",
    [
        None,
        {"signature_def": ["rank_tails"]},
        {"signature_def": {"rank_tails": {"method_name": "predict"}}},
    ],
)
def test_metadata_of_another_form(signatures):
    body = json.dumps({"metadata": {"signature_def": signatures}}).encode()
    message = "FAILED_PRECONDITION: the answer is not that of a QuatRE-TF model"
    with answering(200, body) as address, pytest.raises(ServingError, match=message):
        Client(address, "small").signatures()


@pytest.mark.parametrize("rows", [["ab"], [("a",)], [("a", "b", "c")], [("a", 1)], [("a", b"b")]])
def test_rows_that_are_no_pairs_of_names(rows):
    with pytest.raises(TypeError, match=r"Rows are \(head, relation\)"):
        Client("http://localhost:1", "small").predict_tails(rows)


@pytest.mark.parametrize("address", ["ftp://localhost", "http://", "http://[::1", "http://h:99999"])
def test_malformed_addresses(address):
    with pytest.raises(ServingError, match="An address is http://HOST:PORT or https") as caught:
        Client(address, "small").rank_tails(TRIPLES)
    assert caught.value.code == "INVALID_ADDRESS"


def test_the_client_imports_neither_tensorflow_nor_numpy():
    code = (
        "import sys\n"
        "from saved_models.client import Client\n"
        "Client('http://localhost:1', 'small')\n"
        "sys.exit(bool({'tensorflow', 'numpy'} & set(sys.modules)))"
    )
    assert commands.launch("-c", code) == (0, "", "")
