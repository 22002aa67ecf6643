"""Resolving paths and names from users, and showing them in messages and tables."""

import errno
import os
import pathlib
import re
import stat

from quatre_tf.errors import DataError

# Control characters, what Unicode takes for line ends, marks that turn the direction of the text
# around them, what cannot be encoded, and the byte order mark, which nobody sees.
_UNPRINTABLE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)
# What lies where in the folder of a run.
CONFIG = "config.json"
GRAPH = "graph"
BEST_MODEL = pathlib.PurePath("best", "model.keras")
# A curve for each relation, of `quatre_tf.calibration.platt.fit_curves`.
CALIBRATION = pathlib.PurePath("best", "calibration.npy")

_KINDS = {stat.S_IFIFO: "pipe", stat.S_IFSOCK: "socket"}


def user_path(path: str | os.PathLike) -> pathlib.Path:
    """Returns a path with `~` expanded.

    Raises:
        DataError: It names a user who does not exist, leads into a loop of symbolic links, is too
            long, holds a NUL character, or is not UTF-8.
    """
    text = os.fspath(path)
    expanded = os.path.expanduser(text)
    if text.startswith("~") and expanded == text:
        user = text.partition(os.sep)[0]
        raise DataError(
            f"{printable(text)}: there is no home folder of {printable(user)}. For a name that"
            f" begins with ~ write ./{printable(user)}."
        )
    try:
        # TensorFlow takes names of files as UTF-8.
        expanded.encode()
        os.stat(expanded)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise DataError(
                f"{printable(text)} is a loop of symbolic links. Name what they should lead to."
            ) from error
        if error.errno == errno.ENAMETOOLONG:
            raise DataError(
                f"{printable(text)}: it, or a name in it, is longer than the file system allows. "
                "Choose a shorter one."
            ) from error
    except ValueError as error:
        raise DataError(f"{printable(text)} is no path: {error}.") from error
    return pathlib.Path(expanded)


def output_folder(path: str | os.PathLike) -> pathlib.Path:
    """Returns the path of a folder to write to, which need not be there.

    Raises:
        DataError: It is a file; or as for `user_path`.
    """
    folder = user_path(path)
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder} is a file. Expected by --output: the path of a folder.")
    return folder


def check_regular(path: str | os.PathLike) -> None:
    """Raises DataError for a pipe, device or socket, which could be read once or without end.

    Raises:
        OSError: There is nothing, or it may not be looked at.
    """
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "device")
        raise DataError(
            f"{path} is a {kind}, not a regular file. Write what it gives to a file, and name that."
        )


def printable(text: str, limit: int = 500) -> str:
    """Returns a text in one line: escaped where it would move the cursor, and shortened."""
    # Not more than is shown: a name may have millions of characters.
    shown = text[:limit] + "…" * (len(text) > limit)
    return _UNPRINTABLE.sub(lambda found: ascii(found[0])[1:-1], shown)
