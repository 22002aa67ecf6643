"""REST client for a model in TensorFlow Serving.

    client = Client("http://localhost:8501", "countries")
    (answer,) = client.predict_tails([("Egypt", "official_language")], top_k=3)
    for candidate in answer.candidates:
        print(candidate.entity, candidate.score)

It imports neither TensorFlow nor NumPy.
"""

import dataclasses
import urllib.parse
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import urllib3

from quatre_tf.errors import DataError
from quatre_tf.paths import printable
from quatre_tf.records import Answer

_CODES = {
    400: "INVALID_ARGUMENT",
    404: "NOT_FOUND",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_CONTRACT = "saved_models/README.md describes the signatures and their inputs."
_REMEDIES = {
    "DEADLINE_EXCEEDED": "Ask fewer rows at a time, or raise `timeout`.",
    "FAILED_PRECONDITION": _CONTRACT,
    "INVALID_ADDRESS": "An address is http://HOST:PORT or https://HOST:PORT, and a path if a "
    "gateway needs one: e.g. http://localhost:8501.",
    "INVALID_ARGUMENT": _CONTRACT,
    "NOT_FOUND": "Compare name and version with --model_name or models.config of the server.",
    "UNAVAILABLE": "Is the server running, and is this its REST port (--rest_api_port, 8501 in the "
    "container)?",
}


@dataclasses.dataclass(frozen=True)
class Signature:
    """The names of the inputs and outputs of a signature."""

    inputs: frozenset[str]
    outputs: frozenset[str]


@dataclasses.dataclass(frozen=True)
class Prediction:
    """The answer to one question: candidates, best first; none if `status` is not "OK"."""

    status: str
    candidates: tuple[Answer, ...]


@dataclasses.dataclass(frozen=True)
class TripleScore:
    """The answer about one triple; the numbers are None if `status` is not "OK"."""

    status: str
    score: float | None
    probability: float | None


@dataclasses.dataclass(frozen=True)
class Classification:
    """Whether a triple scores at least the threshold of its relation; None if not "OK"."""

    status: str
    is_true: bool | None
    score: float | None
    threshold: float | None


@dataclasses.dataclass(frozen=True)
class Rank:
    """The filtered rank, 1 at best, .5 where scores are equal; None if `status` is not "OK"."""

    status: str
    rank: float | None


class ServingError(DataError):
    """The server is unreachable, refuses a request, or returns an unexpected response.

    Attributes:
        asked: Address, model and signature.
        code: The gRPC status code that corresponds to the HTTP status, e.g. "NOT_FOUND";
            "INVALID_ADDRESS" if there was no request.
        detail: The server's explanation, shortened.
    """

    def __init__(self, asked: str, code: str, detail: str):
        super().__init__(asked, code, detail)
        self.asked, self.code = asked, code
        # Errors of the runtime go on for many lines of node names.
        self.detail = printable(" ".join(detail.split()), 400).rstrip(".")

    def __str__(self) -> str:
        remedy = _REMEDIES.get(self.code, "The log of the server may say more.")
        return f"{self.asked}: {self.code}: {self.detail}. {remedy}"


class Client:
    """Client for one model on one server; thread-safe.

    A name that the model does not know is not an error but the `status` of its row, so that the
    other rows are answered: "UNKNOWN_HEAD", "UNKNOWN_RELATION" or "UNKNOWN_TAIL". All methods raise
    `ServingError` if the server cannot be reached, has no such model, refuses the request, or
    returns another form of answer. Redirects and the proxies of the environment are not used.

    Args:
        address: E.g. "http://localhost:8501".
        model: The name under which the server has it.
        version: None: the newest that is ready.
        timeout: Seconds to wait for a connection and for data, together.
    """

    def __init__(self, address: str, model: str, version: int | None = None, timeout: float = 10.0):
        self._name = f"{address}, model {model!r}"
        self._url = f"{address.rstrip('/')}/v1/models/{urllib.parse.quote(model, safe='')}"
        if version is not None:
            self._name += f", version {version}"
            self._url += f"/versions/{version}"
        self._http = urllib3.PoolManager(retries=False, timeout=urllib3.Timeout(total=timeout))

    def signatures(self) -> dict[str, Signature]:
        """Returns the signatures of the model by name."""
        metadata = self._ask("metadata", "GET", "/metadata")
        try:
            return {
                name: Signature(frozenset(entry["inputs"]), frozenset(entry["outputs"]))
                for name, entry in metadata["metadata"]["signature_def"]["signature_def"].items()
                if entry["method_name"]
            }
        except (AttributeError, KeyError, TypeError) as error:
            raise self._unexpected("metadata", error) from error

    def predict_tails(
        self,
        questions: Iterable[tuple[str, str]],
        top_k: int = 10,
        filtered: bool = True,
        type_constrained: bool = False,
    ) -> list[Prediction]:
        """Returns the most plausible tails of each (head, relation).

        Args:
            questions: Pairs of names.
            top_k: How many candidates at most, at least 1.
            filtered: Leave out the completions that the graph of the model has already.
            type_constrained: Only entities that the relation was seen with in training.
        """
        options = {"top_k": top_k, "filtered": filtered, "type_constrained": type_constrained}
        return self._predict("predict_tails", ("head", "relation"), questions, options)

    def predict_heads(
        self,
        questions: Iterable[tuple[str, str]],
        top_k: int = 10,
        filtered: bool = True,
        type_constrained: bool = False,
    ) -> list[Prediction]:
        """Returns the most plausible heads of each (relation, tail); see `predict_tails`."""
        options = {"top_k": top_k, "filtered": filtered, "type_constrained": type_constrained}
        return self._predict("predict_heads", ("relation", "tail"), questions, options)

    def score_triples(self, triples: Iterable[tuple[str, str, str]]) -> list[TripleScore]:
        """Returns the score and probability of each (head, relation, tail)."""
        return self._ask_triples("score_triples", triples, TripleScore)

    def classify_triples(self, triples: Iterable[tuple[str, str, str]]) -> list[Classification]:
        """Returns whether each (head, relation, tail) is classified as true."""
        return self._ask_triples("classify_triples", triples, Classification)

    def rank_tails(self, triples: Iterable[tuple[str, str, str]]) -> list[Rank]:
        """Returns the filtered rank of the tail of each triple."""
        return self._ask_triples("rank_tails", triples, Rank)

    def rank_heads(self, triples: Iterable[tuple[str, str, str]]) -> list[Rank]:
        """Returns the filtered rank of the head of each triple."""
        return self._ask_triples("rank_heads", triples, Rank)

    def _predict(
        self,
        signature: str,
        names: Sequence[str],
        questions: Iterable[tuple[str, str]],
        options: Mapping[str, Any],
    ) -> list[Prediction]:
        def record(row: Mapping[str, Any]) -> Prediction:
            return Prediction(row["status"], tuple(_candidates(row)))

        return self._ask_rows(signature, {**_columns(names, questions), **options}, record)

    def _ask_triples(
        self, signature: str, triples: Iterable[tuple[str, str, str]], kind: type
    ) -> list[Any]:
        names = [field.name for field in dataclasses.fields(kind) if field.name != "status"]

        def record(row: Mapping[str, Any]) -> Any:
            is_ok = row["status"] == "OK"
            return kind(row["status"], *(row[name] if is_ok else None for name in names))

        return self._ask_rows(signature, _columns(("head", "relation", "tail"), triples), record)

    def _ask_rows(
        self, signature: str, inputs: Mapping[str, Any], record: Callable[[Mapping[str, Any]], Any]
    ) -> list[Any]:
        """Asks in the column form of the API, in which scalars are sent once."""
        question = {"signature_name": signature, "inputs": inputs}
        asked = next(len(column) for column in inputs.values() if isinstance(column, list))
        answer = self._ask(signature, "POST", ":predict", question)
        try:
            outputs = answer["outputs"]
            rows = [
                dict(zip(outputs, row, strict=True)) for row in zip(*outputs.values(), strict=True)
            ]
            if len(rows) != asked:
                raise ValueError(f"{len(rows)} rows for {asked} questions")
            return [record(row) for row in rows]
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise self._unexpected(signature, error) from error

    def _ask(self, signature: str, method: str, path: str, question: Any = None) -> Any:
        asked = f"{self._name}, {signature}"
        try:
            response = self._http.request(method, self._url + path, json=question, redirect=False)
        except urllib3.exceptions.LocationValueError as error:
            raise ServingError(asked, "INVALID_ADDRESS", str(error)) from error
        except urllib3.exceptions.ReadTimeoutError as error:
            raise ServingError(asked, "DEADLINE_EXCEEDED", str(error)) from error
        except urllib3.exceptions.HTTPError as error:
            raise ServingError(asked, "UNAVAILABLE", str(error)) from error
        if response.status != 200:
            code = _CODES.get(response.status, f"HTTP {response.status}")
            raise ServingError(asked, code, _explanation(response))
        try:
            # The server writes -Infinity, which is not JSON but which Python's parser reads.
            return response.json()
        except (ValueError, RecursionError) as error:
            detail = "the answer is not that of TensorFlow Serving"
            raise ServingError(asked, "UNAVAILABLE", detail) from error

    def _unexpected(self, signature: str, error: Exception) -> ServingError:
        detail = f"the answer is not that of a QuatRE-TF model: {error!r}"
        return ServingError(f"{self._name}, {signature}", "FAILED_PRECONDITION", detail)


def _explanation(response: urllib3.BaseHTTPResponse) -> str:
    """Returns what a refusal says: the "error" of its JSON, or the text as it is."""
    try:
        return str(response.json()["error"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return response.data.decode(errors="replace") or response.reason or ""


def _columns(names: Sequence[str], rows: Iterable[Sequence[str]]) -> dict[str, list[str]]:
    """Returns rows of names as one list for each input."""
    rows = list(rows)
    for row in rows:
        if isinstance(row, str) or [type(name) for name in row] != [str] * len(names):
            raise TypeError(f"Rows are ({', '.join(names)}) as strings. Received: {row!r}.")
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def _candidates(row: Mapping[str, Any]) -> Iterator[Answer]:
    """Yields the candidates of a row; where they ran out, the entity is empty."""
    entities = row["entities"]
    # Data sets without labels have no such output.
    labels = row.get("labels", [""] * len(entities))
    for entity, score, probability, label in zip(
        entities, row["scores"], row["probabilities"], labels, strict=True
    ):
        if entity:
            yield Answer(entity, score, label or None, probability)
