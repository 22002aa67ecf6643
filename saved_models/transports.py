"""How a request travels to TensorFlow Serving: REST here, gRPC in `grpc_transport`.

REST needs the standard library only. A connection a request costs little beside the answer, and
one object may be used by many threads; so no HTTP library would earn its place here.
"""

import dataclasses
import http.client
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import Any, Protocol

from quatre_tf.errors import DataError

# Columns of names, and scalars.
Inputs = Mapping[str, list[str] | int | bool]
Outputs = Mapping[str, list]

_CODES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_CONTRACT = "saved_models/README.md describes the signatures and their inputs."
_REMEDIES = {
    "DEADLINE_EXCEEDED": "Ask fewer rows at a time, or raise `timeout`.",
    "FAILED_PRECONDITION": _CONTRACT,
    "INVALID_ARGUMENT": _CONTRACT,
    "NOT_FOUND": "Compare name and version with --model_name or models.config of the server.",
    "UNAVAILABLE": "Is the server running, and is this its port? REST is at --rest_api_port "
    "(8501 in the container), gRPC at --port (8500).",
}


@dataclasses.dataclass(frozen=True)
class Signature:
    """The names of what a signature takes and of what it gives."""

    inputs: frozenset[str]
    outputs: frozenset[str]


class ServingError(DataError):
    """A server that cannot be reached, or that refuses a request as a whole.

    Attributes:
        asked: Address, model and signature.
        code: The gRPC status code, e.g. "NOT_FOUND"; over REST it is read from the HTTP status.
        detail: What the server says.
    """

    def __init__(self, asked: str, code: str, detail: str):
        super().__init__(asked, code, detail)
        self.asked, self.code = asked, code
        # Errors of the runtime go on for many lines of node names.
        self.detail = " ".join(detail.split())[:400].rstrip(".")

    def __str__(self) -> str:
        remedy = _REMEDIES.get(self.code, "The log of the server may say more.")
        return f"{self.asked}: {self.code}: {self.detail}. {remedy}"


class Transport(Protocol):
    """A way to one model of one server; may be used by several threads at once."""

    def predict(self, signature: str, inputs: Inputs) -> Outputs:
        """Returns the outputs of a signature; ServingError if the server refuses."""

    def signatures(self) -> dict[str, Signature]:
        """Returns the signatures of the model by name."""

    def close(self) -> None:
        """Ends the connection."""


def connect(address: str, model: str, version: int | None, timeout: float) -> Transport:
    """Returns the transport that the scheme of the address asks for; connects when first used."""
    scheme = urllib.parse.urlsplit(address).scheme
    if scheme in ("http", "https"):
        return RestTransport(address, model, version, timeout)
    if scheme != "grpc":
        raise DataError(
            "`address` must start with http://, https:// or grpc://, e.g. http://localhost:8501. "
            f"Received: {address!r}."
        )
    try:
        from saved_models.grpc_transport import GrpcTransport
    except ModuleNotFoundError as error:
        raise DataError(
            f"gRPC needs {error.name}, which is not installed: pip install -e '.[serving]', "
            "or use the REST address of the server."
        ) from error
    return GrpcTransport(address, model, version, timeout)


def describe(address: str, model: str, version: int | None, signature: str) -> str:
    """Returns what was asked, for error messages."""
    model = f"model {model!r}" if version is None else f"model {model!r}, version {version}"
    return f"{address}, {model}, {signature}"


class RestTransport:
    """The JSON API, in its column form: scalars are sent once, not once a row."""

    def __init__(self, address: str, model: str, version: int | None, timeout: float):
        self._asked = (address, model, version)
        self._url = f"{address.rstrip('/')}/v1/models/{urllib.parse.quote(model, safe='')}"
        self._url += "" if version is None else f"/versions/{version}"
        self._timeout = timeout

    def predict(self, signature: str, inputs: Inputs) -> Outputs:
        """See `Transport`. JSON of the server may hold -Infinity, which Python's parser reads."""
        question = {"signature_name": signature, "inputs": inputs}
        return self._ask(signature, ":predict", json.dumps(question).encode(), "outputs")

    def signatures(self) -> dict[str, Signature]:
        """See `Transport`."""
        definitions = self._ask("metadata", "/metadata", None, "metadata")["signature_def"]
        return {
            name: Signature(frozenset(definition["inputs"]), frozenset(definition["outputs"]))
            for name, definition in definitions["signature_def"].items()
            if definition["method_name"]
        }

    def close(self) -> None:
        """Does nothing: every request has a connection of its own."""

    def _ask(self, signature: str, path: str, body: bytes | None, key: str) -> Any:
        asked = describe(*self._asked, signature)
        request = urllib.request.Request(
            self._url + path, body, {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=self._timeout) as response:
                return json.load(response)[key]
        except urllib.error.HTTPError as error:
            code = _CODES.get(error.code, f"HTTP {error.code}")
            raise ServingError(asked, code, _reason(error)) from error
        except (OSError, http.client.HTTPException) as error:
            cause = getattr(error, "reason", error)
            late = isinstance(cause, TimeoutError)
            code = "DEADLINE_EXCEEDED" if late else "UNAVAILABLE"
            raise ServingError(asked, code, str(cause) or repr(cause)) from error
        except (ValueError, KeyError, TypeError) as error:
            detail = "the answer is not that of TensorFlow Serving"
            raise ServingError(asked, "UNAVAILABLE", detail) from error


def _reason(error: urllib.error.HTTPError) -> str:
    try:
        text = error.read().decode(errors="replace")
    except (OSError, http.client.HTTPException):
        # Cut short, or it never came.
        return error.reason
    try:
        detail = json.loads(text)["error"]
    except (ValueError, KeyError, TypeError):
        detail = None
    return detail if detail and isinstance(detail, str) else text or error.reason
