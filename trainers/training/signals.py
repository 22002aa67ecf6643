"""Signals: delays them during critical sections, and handles SIGTERM like Ctrl-C."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any


class Preempted(KeyboardInterrupt):
    """SIGTERM came: somebody else needs the machine. Whatever Ctrl-C does is done."""


@contextlib.contextmanager
def preemptible() -> Iterator[None]:
    """Makes SIGTERM raise `Preempted` in the block; for programs, in their main thread."""

    def preempt(*_: Any) -> None:
        raise Preempted

    before = signal.signal(signal.SIGTERM, preempt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def reinstall_handlers() -> None:
    """Makes SIGTERM mean again what Python was told: TensorFlow's clusters take it for themselves.

    Call it after a strategy was made.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGTERM))


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Lets Ctrl-C and SIGTERM wait until the block is done; then the first that came counts.

    Only the main thread has handlers to put off: in another one this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {
        ending: signal.signal(ending, lambda number, _: came.append(number))
        for ending in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for ending, handler in before.items():
            signal.signal(ending, handler)
    for number in came[:1]:
        signal.raise_signal(number)
