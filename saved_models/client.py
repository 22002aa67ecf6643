"""REST client for a model in TensorFlow Serving.

    client = Client("http://localhost:8501", "countries")
    (answer,) = client.predict_tails([("Egypt", "official_language")], top_k=3)
    for candidate in answer.candidates:
        print(candidate.entity, candidate.score)

It uses the REST interface and imports neither TensorFlow nor NumPy. Answers are checked against the
signature, so that another model or another server under the same address is an error.
"""

import dataclasses
import math
import re
import reprlib
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from saved_models.rest import Inputs, RestModel, ServingError, Signature

__all__ = [
    "Candidate",
    "Classification",
    "Client",
    "Prediction",
    "Rank",
    "ServingError",
    "Signature",
    "TripleScore",
]

_STATUSES = ("OK", "UNKNOWN_HEAD", "UNKNOWN_RELATION", "UNKNOWN_TAIL")
_SURROGATE = re.compile("[\ud800-\udfff]")
_FLOAT32_MAX = 3.4028235e38
# Whether a value may stand in the column of an output.
Check = Callable[[Any], bool]


@dataclasses.dataclass(frozen=True)
class Candidate:
    """An entity that completes a question.

    Attributes:
        entity: Its name.
        score: Higher is more plausible.
        probability: That the triple is true; README.md says what it is worth.
        label: What people call the entity; None if the data set does not say.
    """

    entity: str
    score: float
    probability: float
    label: str | None = None


@dataclasses.dataclass(frozen=True)
class Prediction:
    """The answer to one question: candidates, best first; none if `status` is not "OK"."""

    status: str
    candidates: tuple[Candidate, ...]


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


class Client:
    """Client for one model on one server; thread-safe.

    A name that the model does not know is not an error but the `status` of its row, so that the
    other rows are answered: "UNKNOWN_HEAD", "UNKNOWN_RELATION" or "UNKNOWN_TAIL". All methods raise
    `ServingError` if the server cannot be reached, has no such model, refuses the request, or
    answers anything but what the signature promises. Redirects and the proxies of the environment
    are not used; an answer may have 64 MiB.

    Args:
        address: E.g. "http://localhost:8501".
        model: The name under which the server has it.
        version: None: the newest that is ready.
        timeout: Seconds for a whole request, from looking up the host to the last byte.

    Raises:
        ServingError: The address is malformed.
        ValueError: The timeout is not a positive number.
    """

    def __init__(self, address: str, model: str, version: int | None = None, timeout: float = 10.0):
        self._model = RestModel(address, model, version, timeout)

    def signatures(self) -> dict[str, Signature]:
        """Returns the signatures of the model by name."""
        return self._model.signatures()

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
        inputs = _columns(("head", "relation"), questions)
        return self._predict("predict_tails", inputs, top_k, filtered, type_constrained)

    def predict_heads(
        self,
        questions: Iterable[tuple[str, str]],
        top_k: int = 10,
        filtered: bool = True,
        type_constrained: bool = False,
    ) -> list[Prediction]:
        """Returns the most plausible heads of each (relation, tail); see `predict_tails`."""
        inputs = _columns(("relation", "tail"), questions)
        return self._predict("predict_heads", inputs, top_k, filtered, type_constrained)

    def score_triples(self, triples: Iterable[tuple[str, str, str]]) -> list[TripleScore]:
        """Returns score and probability of each (head, relation, tail)."""
        columns = {"score": _is_number, "probability": _is_probability}
        rows = self._ask_triples("score_triples", triples, columns)
        return [TripleScore(**row) for row in rows]

    def classify_triples(self, triples: Iterable[tuple[str, str, str]]) -> list[Classification]:
        """Returns whether each (head, relation, tail) is classified as true."""
        columns = {"is_true": _is_bool, "score": _is_number, "threshold": _is_number}
        rows = self._ask_triples("classify_triples", triples, columns)
        return [Classification(**row) for row in rows]

    def rank_tails(self, triples: Iterable[tuple[str, str, str]]) -> list[Rank]:
        """Returns the filtered rank of the tail of each triple."""
        rows = self._ask_triples("rank_tails", triples, {"rank": _is_rank})
        return [Rank(**row) for row in rows]

    def rank_heads(self, triples: Iterable[tuple[str, str, str]]) -> list[Rank]:
        """Returns the filtered rank of the head of each triple."""
        rows = self._ask_triples("rank_heads", triples, {"rank": _is_rank})
        return [Rank(**row) for row in rows]

    def _predict(
        self,
        signature: str,
        inputs: dict[str, list[str]],
        top_k: int,
        filtered: bool,
        type_constrained: bool,
    ) -> list[Prediction]:
        options = {"top_k": top_k, "filtered": filtered, "type_constrained": type_constrained}
        columns = {
            "entities": _list_of(_is_string, top_k),
            "scores": _list_of(_is_score, top_k),
            "probabilities": _list_of(_is_probability, top_k),
        }
        # Data sets without labels have no such output.
        labels = {"labels": _list_of(_is_string, top_k)}
        rows = self._ask(signature, {**inputs, **options}, columns, labels)
        if len({len(value) for row in rows for value in row.values() if type(value) is list}) > 1:
            raise self._model.unexpected(signature, "its lists differ in length")
        predictions = [Prediction(row["status"], tuple(_candidates(row))) for row in rows]
        for prediction in predictions:
            scores = [candidate.score for candidate in prediction.candidates]
            if -math.inf in scores:
                raise self._model.unexpected(signature, "an entity has the score -Infinity")
            if scores != sorted(scores, reverse=True):
                raise self._model.unexpected(signature, "its candidates are not best first")
            if len({candidate.entity for candidate in prediction.candidates}) < len(scores):
                raise self._model.unexpected(signature, "an entity appears twice")
        return predictions

    def _ask_triples(
        self, signature: str, triples: Iterable[tuple[str, str, str]], columns: Mapping[str, Check]
    ) -> list[dict[str, Any]]:
        return self._ask(signature, _columns(("head", "relation", "tail"), triples), columns)

    def _ask(
        self,
        signature: str,
        inputs: Inputs,
        columns: Mapping[str, Check],
        optional: Mapping[str, Check] = types.MappingProxyType({}),
    ) -> list[dict[str, Any]]:
        """Returns the checked rows of the answer: values by output, None where not "OK"."""
        outputs = self._model.predict(signature, inputs)
        num_rows = len(next(value for value in inputs.values() if isinstance(value, list)))
        try:
            return _checked_rows(outputs, num_rows, columns, optional)
        except _UnexpectedError as error:
            raise self._model.unexpected(signature, str(error)) from error


class _UnexpectedError(Exception):
    """What does not match the signature."""


def _checked_rows(
    outputs: Any, num_rows: int, columns: Mapping[str, Check], optional: Mapping[str, Check]
) -> list[dict[str, Any]]:
    if not isinstance(outputs, dict):
        raise _UnexpectedError("its outputs have no names")
    missing = sorted({"status", *columns} - set(outputs))
    if missing:
        raise _UnexpectedError(f"it has no {', '.join(missing)}")
    checks = {**columns, **{name: optional[name] for name in optional if name in outputs}}
    for name in ("status", *checks):
        if not isinstance(outputs[name], list) or len(outputs[name]) != num_rows:
            raise _UnexpectedError(f"`{name}` is not a list with a value for each question")
    rows = []
    for row, status in enumerate(outputs["status"]):
        values = {name: outputs[name][row] for name in checks}
        if status not in _STATUSES:
            raise _UnexpectedError(f"row {row} has the status {reprlib.repr(status)}")
        if status != "OK":
            values = dict.fromkeys(values)
        for name, value in values.items():
            if status == "OK" and not checks[name](value):
                raise _UnexpectedError(f"`{name}` of row {row} is {reprlib.repr(value)}")
        rows.append({"status": status, **values})
    return rows


def _columns(names: Sequence[str], rows: Iterable[Sequence[str]]) -> dict[str, list[str]]:
    """Returns rows of names as one list for each input."""
    rows = list(rows)
    for row in rows:
        if isinstance(row, str) or [type(name) for name in row] != [str] * len(names):
            raise TypeError(f"Rows are ({', '.join(names)}) as strings. Received: {row!r}.")
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def _candidates(row: Mapping[str, Any]) -> Iterator[Candidate]:
    """Yields the candidates of a row; where they ran out, the entity is empty."""
    entities = row["entities"] or []
    labels = row.get("labels") or [""] * len(entities)
    columns = (entities, row["scores"] or [], row["probabilities"] or [], labels)
    for entity, score, probability, label in zip(*columns, strict=True):
        if entity:
            yield Candidate(entity, score, probability, label or None)


def _list_of(check: Check, most: int) -> Check:
    return lambda value: type(value) is list and len(value) <= most and all(map(check, value))


def _is_string(value: Any) -> bool:
    # JSON can hold half of a surrogate pair, which is in no UTF-8 text.
    return type(value) is str and not _SURROGATE.search(value)


def _is_bool(value: Any) -> bool:
    return type(value) is bool


def _is_number(value: Any) -> bool:
    # JSON has numbers of any size, and Python's parser reads NaN; true is an int.
    return type(value) in (int, float) and -_FLOAT32_MAX <= value <= _FLOAT32_MAX


def _is_score(value: Any) -> bool:
    # Minus infinity stands where candidates ran out.
    return _is_number(value) or value == -math.inf


def _is_probability(value: Any) -> bool:
    return _is_number(value) and 0 <= value <= 1


def _is_rank(value: Any) -> bool:
    return _is_number(value) and value >= 1
