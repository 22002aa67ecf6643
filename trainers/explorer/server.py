"""The local HTTP server."""

import os
import socket
from collections.abc import Callable, Iterable

from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

from quatre_tf.errors import ConfigError

_HOST = "127.0.0.1"


def listen(port: int) -> socket.socket:
    """Returns a socket that listens on a port of this computer alone; 0: one that is free.

    Raises:
        ConfigError: The port is in use, or not allowed.
    """
    try:
        return socket.create_server((_HOST, port))
    except OSError as error:
        raise ConfigError(
            f"Cannot listen on port {port} of {_HOST}: {os.strerror(error.errno or 0)}. Choose "
            "another --port, or --port=0 for one that is free."
        ) from error


def address(listening: socket.socket) -> str:
    """Returns the URL of a listening socket."""
    return f"http://{_HOST}:{listening.getsockname()[1]}/"


def make(application: Callable[..., Iterable[bytes]], listening: socket.socket) -> BaseWSGIServer:
    """Returns the server of an application at a socket; `serve_forever` ends with Ctrl-C.

    It has a thread for each connection: browsers open some that they do not use at once.
    """
    port = listening.getsockname()[1]
    return make_server(
        _HOST, port, application, threaded=True, request_handler=_Handler, fd=listening.fileno()
    )


class _Handler(WSGIRequestHandler):
    """Logs failures, not every request."""

    def log_request(self, *args: object) -> None:
        """Says nothing."""
