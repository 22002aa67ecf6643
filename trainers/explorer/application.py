"""The explore page and its JSON API as a WSGI application for local browsers only."""

import functools
import json
import pathlib
from collections.abc import Callable, Iterable
from typing import Any

from werkzeug.exceptions import HTTPException
from werkzeug.routing import Map, Rule
from werkzeug.wrappers import Request, Response

from quatre_tf.errors import DataError, UnknownNameError
from trainers.explorer.api import Api

_STATIC = pathlib.Path(__file__).parent / "static"
# All files there are to ask for: no path of a request ever reaches the file system.
_FILES = {
    "/": ("index.html", "text/html"),
    "/explore.css": ("explore.css", "text/css"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
    **{
        f"/{name}.js": (f"{name}.js", "text/javascript")
        for name in ("main", "page", "search", "question", "answers", "entity", "run", "chart")
    },
}
_QUESTIONS = ("run", "curves", "search", "entity", "answers")
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    # The next run may be at the same address.
    "Cache-Control": "no-store",
}


class _Request(Request):
    # A page of another site can point its name to this computer; its browser still says the name.
    trusted_hosts = ["localhost", "127.0.0.1"]  # noqa: RUF012  (as in the base class)


class Application:
    """Serves the page at / and the methods of `Api` below /api/; there is nothing but GET.

    A request names the run that it asks in `run`; without it, the first one answers. Errors are
    JSON: `{"error", "suggestions"}`, with the closest names where one is unknown.

    Args:
        apis: What answers, an API for each run; their titles differ.
    """

    def __init__(self, *apis: Api):
        self._apis = {api.title: api for api in apis}
        endpoints: dict[str, Callable[[Request], Response]] = {
            path: functools.partial(_file, (_STATIC / name).read_bytes(), mimetype)
            for path, (name, mimetype) in _FILES.items()
        }
        for name in _QUESTIONS:
            endpoints[f"/api/{name}"] = functools.partial(self._answer, name)
        endpoints["/api/runs"] = self._runs
        rules = [Rule(path, endpoint=path, methods=["GET"]) for path in endpoints]
        self._endpoints, self._rules = endpoints, Map(rules, merge_slashes=False).bind("localhost")

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Answers a request as WSGI has it."""
        response = self._respond(_Request(environ))
        response.headers.update(_HEADERS)
        return response(environ, start_response)

    def _answer(self, question: str, request: Request) -> Response:
        title = request.args.get("run") or next(iter(self._apis))
        if title not in self._apis:
            raise UnknownNameError(title, kind="run", suggestions=list(self._apis))
        return _json(getattr(self._apis[title], question)(request.args))

    def _runs(self, request: Request) -> Response:
        """Returns the titles of the runs and the figures of their test splits."""
        tests = {title: api.run(request.args)["test"] for title, api in self._apis.items()}
        return _json({"runs": [{"title": title, "test": test} for title, test in tests.items()]})

    def _respond(self, request: Request) -> Response:
        try:
            _ = request.host  # Raises unless it is trusted.
            endpoint, _ = self._rules.match(request.path, request.method)
            return self._endpoints[endpoint](request)
        except UnknownNameError as error:
            return _json({"error": str(error), "suggestions": error.suggestions}, 404)
        except DataError as error:
            return _json({"error": str(error), "suggestions": []}, 400)
        except HTTPException as error:
            told = _json({"error": error.description, "suggestions": []}, error.code or 500)
            allowed = getattr(error, "valid_methods", None)
            if allowed:
                told.headers["Allow"] = ", ".join(sorted(allowed))
            return told


def _file(content: bytes, mimetype: str, request: Request) -> Response:
    return Response(content, mimetype=mimetype)


def _json(content: dict[str, Any], status: int = 200) -> Response:
    text = json.dumps(content, ensure_ascii=False, allow_nan=False)
    return Response(text, status, mimetype="application/json")
