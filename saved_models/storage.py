"""Actionable disk errors."""

import contextlib
import errno
import os
import pathlib
import shutil
from collections.abc import Iterator

import tensorflow as tf

from quatre_tf.errors import DataError

# A full disk, a quota, a limit of the shell, no permission, a failing disk, not a folder, a network
# disk that gave up. Python repeats what a signal interrupted; TensorFlow does not.
_ERRNOS = (
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EROFS,
    errno.EACCES,
    errno.EPERM,
    errno.EIO,
    errno.ENOTDIR,
    errno.ENOTEMPTY,
    errno.EINTR,
)


class StorageError(DataError):
    """The disk is full or fails; the message says what was kept."""


@contextlib.contextmanager
def writing(what: str, path: pathlib.Path, remedy: str, needed: int = 0) -> Iterator[None]:
    """Explains the errors of a disk, Python's and TensorFlow's, that the block meets.

    Args:
        what: What is written, as "the checkpoint".
        path: Where to.
        remedy: What was kept, and how to continue once the disk works again.
        needed: Bytes that it takes, where that is known.

    Raises:
        StorageError: In the place of such an error; all others pass.
    """
    try:
        yield
    except DataError:
        raise
    except (OSError, tf.errors.OpError, ValueError) as error:
        # A ValueError where TensorFlow reads the fingerprint of a SavedModel back.
        reason = disk_reason(error)
        if reason is None:
            raise
        size = f"It takes {needed / 1e6:,.1f} MB, and " if needed else ""
        raise StorageError(
            f"Cannot write {what} {path}: {reason}. {size}{_free(path) / 1e6:,.1f} MB are free on "
            f"that disk. {remedy}"
        ) from error


def disk_reason(error: BaseException) -> str | None:
    """Returns what the system says; None where the error is not one of a disk."""
    if isinstance(error, OSError):
        return str(error.strerror) if error.errno in _ERRNOS else None
    # TensorFlow has codes of its own, some of which also mean other things.
    texts = map(os.strerror, _ERRNOS)
    return next((text for text in texts if text in str(error)), None)


def _free(path: pathlib.Path) -> int:
    return shutil.disk_usage(next(p for p in (path, *path.absolute().parents) if p.exists())).free
