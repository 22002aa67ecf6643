"""The client against a double of the server, and against servers that misbehave."""

import contextlib
import http
import http.client
import json
import socket
import threading

import numpy as np
import pytest

from saved_models.client import Classification, Client, Prediction, Rank, TripleScore
from saved_models.rest import RestModel, ServingError
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


@pytest.mark.parametrize(
    "start", [b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n"]
)
def test_a_server_that_sends_a_byte_now_and_then(start):
    """Neither headers nor body may hold the client: each byte is within the timeout."""
    answered = threading.Event()

    def drip(connection):
        connection.sendall(start)
        while not answered.wait(0.05):
            connection.sendall(b"x")

    with raw_server(drip) as address:
        try:
            with pytest.raises(ServingError, match=r"no complete answer within 0\.3 s") as caught:
                Client(address, "small", timeout=0.3).rank_tails(TRIPLES)
        finally:
            answered.set()
    assert caught.value.code == "DEADLINE_EXCEEDED"


@pytest.mark.parametrize("headers", [b"", b"Content-Length: 999999999999\r\n"])
def test_an_answer_without_end(monkeypatch, headers):
    monkeypatch.setattr("saved_models.rest.MAX_BYTES", 2**20)
    sent = []

    def flood(connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\n" + headers + b"\r\n")
        for _ in range(2**12):
            connection.sendall(b"[" * 2**16)
            sent.append(2**16)

    with (
        raw_server(flood) as address,
        pytest.raises(ServingError, match="larger than 1,048,576 bytes") as caught,
    ):
        Client(address, "small").rank_tails(TRIPLES)
    assert caught.value.code == "RESOURCE_EXHAUSTED"
    # 256 MiB were there to send; sockets buffer a few.
    assert sum(sent) < 2**26


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
        (200, b'{"outputs": ' + b"9" * 5000, "UNAVAILABLE: the answer is not that of TensorFlow"),
        (200, b'["outputs"]', "UNAVAILABLE: the answer is not that of TensorFlow Serving"),
        (503, b"<html>no backend</html>", "UNAVAILABLE: <html>no backend</html>"),
        (504, b"", "DEADLINE_EXCEEDED: Gateway Timeout"),
        # Some versions of the server escape as C does, which is no JSON.
        (400, rb'{ "error": "Missing \'inputs\'" }', "INVALID_ARGUMENT: .*Missing"),
        (418, b'{"error": "short and \\u001bstout"}', r"HTTP 418: short and \\x1bstout"),
        (400, b'{"error": null}', 'INVALID_ARGUMENT: {"error": null}'),
    ],
)
def test_something_else_answers(status, body, message):
    with answering(status, body) as address, pytest.raises(ServingError, match=message):
        Client(address, "small").rank_tails(TRIPLES)


PREDICTIONS = {
    "status": ["OK", "UNKNOWN_HEAD"],
    "entities": [["Q1", "Q2", ""], ["", "", ""]],
    "scores": [[2.0, 1.0, float("-inf")], [0.0, 0.0, 0.0]],
    "probabilities": [[0.75, 0.5, 0.0], [0.0, 0.0, 0.0]],
    "labels": [["universe", "", ""], ["", "", ""]],
}


UNFIT = {
    "status": ["OK", ["OK"], ["OK", "OK", "OK"], ["OK", "ok"], ["OK", None], ["OK", ["OK"]]],
    "entities": [
        *(None, ["Q1", "Q2"], [["Q1", "Q2", ""]], [["Q1", "Q2"], ["", ""]]),
        *([["Q1", "Q2", odd], ["", "", ""]] for odd in (None, 7, ["Q3"])),
        [["Q1", "\ud800", ""], ["", "", ""]],
        {"0": ["Q1", "Q2", ""], "1": ["", "", ""]},
        [["Q1", "Q1", ""], ["", "", ""]],
    ],
    "scores": [
        [[1.0, 2.0, float("-inf")], [0.0, 0.0, 0.0]],
        [[2.0, 1.0], [0.0, 0.0]],
        [[2.0, float("-inf"), float("-inf")], [0.0, 0.0, 0.0]],
        *(
            [[2.0, odd, 0.0], [0.0, 0.0, 0.0]]
            for odd in (None, "1.0", True, float("nan"), float("inf"), 10**400)
        ),
    ],
    "probabilities": [[[odd, 0.5, 0.0], [0.0, 0.0, 0.0]] for odd in (1.5, -0.5)],
    "labels": [None, [["universe", ""], ["", ""]]],
}
SCORED = {"status": ["OK"], "score": [1.5], "probability": [0.5]}
CLASSIFIED = {"status": ["OK"], "is_true": [True], "score": [1.5], "threshold": [0.5]}
RANKS = (0, 0.5, -1, None, "1", [1.0], float("nan"), float("inf"))
UNFIT_ANSWERS = [
    *(("predict_tails", PREDICTIONS | {name: unfit}) for name in UNFIT for unfit in UNFIT[name]),
    *(("rank_heads", {"status": ["OK"] * 2, "rank": [rank, 1.0]}) for rank in RANKS),
    ("score_triples", SCORED | {"score": [float("-inf")]}),
    ("score_triples", SCORED | {"score": [None]}),
    ("score_triples", SCORED | {"probability": [2]}),
    *(("classify_triples", CLASSIFIED | {"is_true": [odd]}) for odd in (1, "true", None)),
    ("classify_triples", CLASSIFIED | {"threshold": [None]}),
    *(("rank_tails", outputs) for outputs in (None, [], "OK", 7, [["OK"]])),
]


@pytest.mark.parametrize(("method", "outputs"), UNFIT_ANSWERS)
def test_answers_that_do_not_match_the_signature(monkeypatch, method, outputs):
    monkeypatch.setattr(RestModel, "predict", lambda *_: outputs)
    rows = {"predict_tails": QUESTIONS[:2], "rank_heads": TRIPLES[:2]}.get(method, TRIPLES[:1])
    message = "FAILED_PRECONDITION: the answer is not that of a QuatRE-TF model: .*README"
    with pytest.raises(ServingError, match=message):
        getattr(Client("http://localhost:1", "small"), method)(rows)


@pytest.mark.parametrize(
    "signatures",
    [
        None,
        {"signature_def": ["rank_tails"]},
        {"signature_def": {"rank_tails": {"method_name": "predict"}}},
        {"signature_def": {"rank_tails": {"method_name": "p", "inputs": "head", "outputs": {}}}},
    ],
)
def test_metadata_of_another_form(signatures):
    body = json.dumps({"metadata": {"signature_def": signatures}}).encode()
    message = "FAILED_PRECONDITION.*its signatures cannot be read"
    with answering(200, body) as address, pytest.raises(ServingError, match=message):
        Client(address, "small").signatures()


@pytest.mark.parametrize("rows", [["ab"], [("a",)], [("a", "b", "c")], [("a", 1)], [("a", b"b")]])
def test_rows_that_are_no_pairs_of_names(rows):
    with pytest.raises(TypeError, match=r"Rows are \(head, relation\)"):
        Client("http://localhost:1", "small").predict_tails(rows)


ADDRESSES = """localhost:8501 ftp://localhost grpc://localhost:8500 file:///etc http:// http:///v1
http://host:port http://host:99999 http://host:-1 http://[::1 http://user:password@host
http://host/?key=1 http://host#part"""


@pytest.mark.parametrize("address", [*ADDRESSES.split(), "", "http://a host", "http://h\r\nX: y"])
def test_malformed_addresses(address):
    with pytest.raises(ServingError, match="An address is http://HOST:PORT or https") as caught:
        Client(address, "small")
    assert caught.value.code == "INVALID_ADDRESS"


def test_a_name_of_a_model_that_no_address_holds():
    with pytest.raises(ServingError, match=r"model .*\\udce4.* not UTF-8"):
        Client("http://localhost:1", "m\udce4dchen")


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), 10**400, True])
def test_timeouts_are_positive_numbers(timeout):
    with pytest.raises(ValueError, match="`timeout` must be a positive number"):
        Client("http://localhost:1", "small", timeout=timeout)


def test_the_client_imports_neither_tensorflow_nor_numpy():
    code = (
        "import sys\n"
        "from saved_models.client import Client\n"
        "Client('http://localhost:1', 'small')\n"
        "sys.exit(bool({'tensorflow', 'numpy'} & set(sys.modules)))"
    )
    assert commands.launch("-c", code) == (0, "", "")
