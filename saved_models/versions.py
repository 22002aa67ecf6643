"""Version folders of a served model, as TensorFlow Serving watches them."""

import errno
import os
import pathlib
import tempfile
from collections.abc import Callable

from quatre_tf.errors import DataError
from quatre_tf.paths import user_path


def publish_version(
    base_dir: str | os.PathLike,
    write: Callable[[pathlib.Path], None],
    version: int | None = None,
) -> pathlib.Path:
    """Makes a new version folder appear at once and complete, or not at all.

    Args:
        base_dir: The local folder of the model; made if it is missing.
        write: Fills the empty folder that it is given.
        version: Positive integer; None: one more than the highest there is.

    Returns:
        The new folder, `base_dir/<version>`.

    Raises:
        ValueError: `version` is not positive.
        DataError: The version is there already, or the folder cannot be written.
    """
    if version is not None and version < 1:
        raise ValueError(f"`version` must be a positive integer. Received: {version}.")
    base_dir = user_path(base_dir)
    try:
        base_dir.mkdir(parents=True, exist_ok=True)
        _check_free(base_dir, version)
        # Servers look at folders whose name is a number only, so they do not see this one.
        with tempfile.TemporaryDirectory(prefix=".partial-", dir=base_dir) as partial:
            # One level deeper: the temporary folder is closed to other users, such as a server's.
            folder = pathlib.Path(partial) / "version"
            folder.mkdir()
            write(folder)
            return _rename(folder, base_dir, version)
    except OSError as error:
        raise DataError(f"Cannot write a model to {base_dir}: {error}") from error


def next_version(base_dir: pathlib.Path) -> int:
    """Returns one more than the highest number among the names in `base_dir`, at least 1."""
    names = [path.name for path in base_dir.iterdir()]
    return 1 + max((int(name) for name in names if name.isascii() and name.isdecimal()), default=0)


def _check_free(base_dir: pathlib.Path, version: int | None) -> None:
    if version is not None and (base_dir / str(version)).exists():
        raise DataError(
            f"Version {version} is already in {base_dir}, and what is served must not change. "
            f"The next free one is {next_version(base_dir)}, which is also the default."
        )


def _rename(folder: pathlib.Path, base_dir: pathlib.Path, version: int | None) -> pathlib.Path:
    while True:
        target = base_dir / str(version or next_version(base_dir))
        try:
            # Atomic; and it fails if the target has become a folder with files in it.
            return folder.rename(target)
        except OSError as error:
            # Another export was quicker: take the next number.
            if version is not None or error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                raise
