"""The REST interface of TensorFlow Serving.

Each request runs in a thread of its own, because neither name resolution nor the reading of headers
has a time limit that covers the whole. Nothing is followed, decompressed or read without a bound.
"""

import dataclasses
import json
import queue
import threading
import time
import urllib.parse
from collections.abc import Callable, Mapping
from typing import Any

import urllib3

from quatre_tf.errors import DataError
from quatre_tf.paths import printable
from quatre_tf.validation import describe

# Columns of names, and scalars.
Inputs = Mapping[str, list[str] | int | bool]

MAX_BYTES = 64 * 2**20
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
    "INVALID_ADDRESS": "An address is http://HOST:PORT or https://HOST:PORT, and a path if a "
    "gateway needs one: e.g. http://localhost:8501.",
    "INVALID_ARGUMENT": _CONTRACT,
    "NOT_FOUND": "Compare name and version with --model_name or models.config of the server.",
    "RESOURCE_EXHAUSTED": "Ask fewer rows or fewer candidates at a time.",
    "UNAVAILABLE": "Is the server running, and is this its REST port (--rest_api_port, 8501 in the "
    "container)?",
}


@dataclasses.dataclass(frozen=True)
class Signature:
    """The names of the inputs and outputs of a signature."""

    inputs: frozenset[str]
    outputs: frozenset[str]


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


class RestModel:
    """One model of one server, in the column form of the JSON API: scalars are sent once.

    Args:
        address: "http://HOST:PORT" or "https://HOST:PORT".
        model: The name of the model.
        version: None: the newest that is ready.
        timeout: Seconds for a whole request, from looking up the host to the last byte.

    Raises:
        ServingError: The address is malformed, or the name of the model cannot be part of one.
        ValueError: The timeout is not a positive number, or too large to wait for.
    """

    def __init__(self, address: str, model: str, version: int | None, timeout: float):
        if isinstance(timeout, bool) or not 0 < timeout <= threading.TIMEOUT_MAX:
            raise ValueError(
                f"`timeout` must be a positive number, at most {threading.TIMEOUT_MAX:g}. "
                f"{describe('timeout', timeout)}"
            )
        _check_address(address)
        self._timeout = timeout
        self._name = f"{address}, model {model!r}"
        self._name += "" if version is None else f", version {version}"
        try:
            quoted = urllib.parse.quote(model, safe="")
        except UnicodeEncodeError as error:
            detail = f"the name of the model is not UTF-8: {error}"
            raise ServingError(printable(self._name), "INVALID_ADDRESS", detail) from error
        self._url = f"{address.rstrip('/')}/v1/models/{quoted}"
        self._url += "" if version is None else f"/versions/{version}"

    def predict(self, signature: str, inputs: Inputs) -> Any:
        """Returns the "outputs" of the answer, as parsed from JSON.

        The server may write -Infinity, which is not JSON but which Python's parser reads.
        """
        question = {"signature_name": signature, "inputs": inputs}
        return self._ask(signature, "POST", ":predict", json.dumps(question).encode(), "outputs")

    def signatures(self) -> dict[str, Signature]:
        """Returns the signatures of the model by name."""
        metadata = self._ask("metadata", "GET", "/metadata", None, "metadata")
        try:
            return {
                name: Signature(
                    frozenset(definition["inputs"].keys()), frozenset(definition["outputs"].keys())
                )
                for name, definition in metadata["signature_def"]["signature_def"].items()
                if definition["method_name"]
            }
        except (AttributeError, KeyError, TypeError) as error:
            raise self.unexpected("metadata", "its signatures cannot be read") from error

    def unexpected(self, signature: str, detail: str) -> ServingError:
        """Returns the error for an answer that does not match the signature."""
        detail = f"the answer is not that of a QuatRE-TF model: {detail}"
        return ServingError(f"{self._name}, {signature}", "FAILED_PRECONDITION", detail)

    def _ask(self, signature: str, method: str, path: str, body: bytes | None, key: str) -> Any:
        asked = f"{self._name}, {signature}"
        deadline = time.monotonic() + self._timeout
        try:
            status, reason, content = _in_thread(
                lambda: _request(method, self._url + path, body, deadline), self._timeout
            )
        except TimeoutError as error:
            detail = f"no complete answer within {self._timeout:g} s"
            raise ServingError(asked, "DEADLINE_EXCEEDED", detail) from error
        except urllib3.exceptions.LocationParseError as error:
            raise ServingError(asked, "INVALID_ADDRESS", str(error)) from error
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise ServingError(asked, "UNAVAILABLE", str(error) or repr(error)) from error
        if len(content) > MAX_BYTES:
            detail = f"the answer is larger than {MAX_BYTES:,} bytes"
            raise ServingError(asked, "RESOURCE_EXHAUSTED", detail)
        if status != 200:
            detail = _explanation(content) or reason
            raise ServingError(asked, _CODES.get(status, f"HTTP {status}"), detail)
        try:
            return json.loads(content)[key]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            detail = "the answer is not that of TensorFlow Serving"
            raise ServingError(asked, "UNAVAILABLE", detail) from error


def _check_address(address: str) -> None:
    try:
        url = urllib3.util.parse_url(address)
    except urllib3.exceptions.LocationParseError as error:
        raise ServingError(repr(address), "INVALID_ADDRESS", str(error)) from error
    if url.scheme not in ("http", "https") or not url.host or url.auth or url.query or url.fragment:
        detail = "this is not the address of a REST server"
        raise ServingError(repr(address), "INVALID_ADDRESS", detail)


def _in_thread(call: Callable[[], Any], timeout: float) -> Any:
    """Returns what `call` returns or raises; TimeoutError if it takes longer than `timeout`."""
    outcome: queue.SimpleQueue[tuple[Any, Exception | None]] = queue.SimpleQueue()

    def run() -> None:
        try:
            outcome.put((call(), None))
        except Exception as error:
            outcome.put((None, error))

    # A daemon: an abandoned request does not keep the program alive.
    threading.Thread(target=run, name="rest-request", daemon=True).start()
    try:
        result, error = outcome.get(timeout=timeout)
    except queue.Empty:
        raise TimeoutError from None
    if error is not None:
        raise error
    return result


def _request(method: str, url: str, body: bytes | None, deadline: float) -> tuple[int, str, bytes]:
    """Returns status, reason and content; the content may be cut off after `MAX_BYTES`."""
    with urllib3.PoolManager() as manager:
        response = manager.urlopen(
            method,
            url,
            body=body,
            headers={"Content-Type": "application/json"},
            # A second longer than the caller waits: this only ends abandoned requests.
            timeout=max(deadline - time.monotonic(), 0) + 1,
            retries=False,
            redirect=False,
            preload_content=False,
            # What is compressed may be any size; the server does not compress.
            decode_content=False,
        )
        content = bytearray()
        try:
            while len(content) <= MAX_BYTES and (part := response.read1(2**16)):
                content += part
                if time.monotonic() > deadline:
                    raise TimeoutError
        except urllib3.exceptions.HTTPError:
            if response.status == 200:
                raise
            # The status says what is wrong even without the whole explanation.
            content.clear()
        finally:
            response.close()
        return response.status, response.reason or "", bytes(content)


def _explanation(content: bytes) -> str:
    """Returns what a refusal says: the "error" of its JSON, or the text as it is."""
    text = content.decode(errors="replace")
    try:
        detail = json.loads(text)["error"]
    except (ValueError, KeyError, TypeError, RecursionError):
        detail = None
    return detail if detail and isinstance(detail, str) else text
