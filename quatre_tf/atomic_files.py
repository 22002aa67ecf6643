"""Atomic file writes."""

import contextlib
import os
import pathlib
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from typing import IO, Any

from quatre_tf.errors import DataError
from quatre_tf.paths import user_path

# Servers of models take folders whose name is a number, so they do not see these.
_PARTIAL = ".quatre-partial-"


@contextlib.contextmanager
def whole_file(path: str | pathlib.Path, binary: bool = False) -> Iterator[IO[Any]]:
    """Replaces a file with what the block writes, once all of it is on the disk.

    When the block raises, the file stays as it was. What is there and cannot be replaced, for
    example a pipe, is written to as it is; of a symbolic link, the file that it leads to is
    replaced.

    Args:
        path: The file.
        binary: Whether it takes bytes; otherwise text, written as UTF-8 with the line ends given.

    Yields:
        The stream to write to.

    Raises:
        OSError: The file cannot be written.
    """
    path = pathlib.Path(path)
    kind, encoding, newline = ("b", None, None) if binary else ("", "utf-8", "")
    # Not resolved: /dev/stdout leads to a pipe that has no path.
    if path.exists() and not path.is_file():
        with path.open(f"w{kind}", encoding=encoding, newline=newline) as file:
            yield file
        return
    path = path.resolve()
    # A unique name: two processes that write one file do not share it.
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    try:
        with partial.open(f"x{kind}", encoding=encoding, newline=newline) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileNotFoundError):
            shutil.copymode(path, partial)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def write_text(path: str | pathlib.Path, text: str) -> None:
    """Replaces a file with a text; see `whole_file`."""
    with whole_file(path) as file:
        file.write(text)


@contextlib.contextmanager
def partial_folder(parent: pathlib.Path) -> Iterator[pathlib.Path]:
    """Yields a new folder in `parent`, to be filled and renamed; what is left of it is removed.

    So is what killed processes have left there: a folder in use is locked.

    Args:
        parent: An existing folder, on the disk that the result is for.

    Raises:
        OSError: The disk does not take it.
    """
    with contextlib.ExitStack() as in_use:
        # One process at a time: a new folder is not locked yet.
        with locked(parent):
            for left in parent.glob(f"{_PARTIAL}*"):
                with contextlib.ExitStack() as removal:
                    if _lock(left, removal, wait=False):
                        shutil.rmtree(left, ignore_errors=True)
            temporary = tempfile.TemporaryDirectory(prefix=_PARTIAL, dir=parent)
            outer = pathlib.Path(in_use.enter_context(temporary))
            _lock(outer, in_use, wait=True)
        # One level deeper: the temporary folder is closed to other users, such as a server's.
        folder = outer / "folder"
        folder.mkdir()
        yield folder


@contextlib.contextmanager
def locked(folder: pathlib.Path) -> Iterator[None]:
    """Makes other processes wait that lock the folder too, where its disk has locks."""
    with contextlib.ExitStack() as held:
        _lock(folder, held, wait=True)
        yield


def _lock(folder: pathlib.Path, held: contextlib.ExitStack, wait: bool) -> bool:
    """Locks a folder until `held` ends; returns False where it is locked or cannot be."""
    # Not there on Windows.
    import fcntl

    try:
        descriptor = os.open(folder, os.O_RDONLY)
        held.callback(os.close, descriptor)
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


@contextlib.contextmanager
def output_file(path: str | pathlib.Path, binary: bool = False) -> Iterator[IO[Any]]:
    """`whole_file` for a path that a user gave, `~` included.

    Raises:
        DataError: The file cannot be written.
    """
    path = user_path(path)
    try:
        with whole_file(path, binary) as file:
            yield file
    except OSError as error:
        raise DataError(f"Cannot write {path}: {error.strerror or error}.") from error
