"""Progress bars and status lines on a terminal; logs show nothing."""

import contextlib
import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

import tqdm

T = TypeVar("T")

# Faster work shows no bar.
_DELAY_SECONDS = 2.0


def progress(items: Iterable[T], what: str, total: int | None = None) -> Iterable[T]:
    """Returns the items, with a bar on standard error while they are taken.

    The bar comes after two seconds, on a terminal only, and goes when the items end.

    Args:
        items: Anything; only what it yields is waited for.
        what: What is done, as "Ranking heads".
        total: How many there will be, where `len(items)` cannot say.
    """
    return tqdm.tqdm(
        items,
        desc=what,
        total=total,
        delay=_DELAY_SECONDS,
        disable=None,
        leave=False,
        dynamic_ncols=True,
        bar_format="{desc}  {percentage:3.0f}%|{bar}| {elapsed}, {remaining} left",
    )


@contextlib.contextmanager
def status(what: str) -> Iterator[None]:
    """Shows a line while something is done that cannot say how far it is."""
    shown = f"{what} ..." if sys.stderr.isatty() else ""
    sys.stderr.write(shown)
    sys.stderr.flush()
    try:
        yield
    finally:
        # Back to the start, and nothing left of the line.
        sys.stderr.write(f"\r{' ' * len(shown)}\r" if shown else "")
        sys.stderr.flush()
