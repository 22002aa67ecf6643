"""Output folder of `quatre prepare`: written atomically, and never deletes other files."""

import errno
import os
import pathlib
import secrets
from collections.abc import Callable, Sequence

from quatre_tf.atomic_files import locked, partial_folder
from quatre_tf.data.encoding import NEGATIVES, SPLITS
from quatre_tf.errors import DataError

REPORT = "report.json"
_WRITTEN = {*(f"{name}.txt" for name in (*SPLITS, *NEGATIVES.values())), "labels.tsv", REPORT}


class OutputFolder:
    """A folder that is missing, empty, or holds a data set of an earlier call to replace.

    What it holds is noted now and compared again before it is replaced, so that nothing is lost
    that appears in the meantime.

    Args:
        folder: Its path.
        inputs: The files or folders that are read, which may not lie in it.
        overwrite: Whether a data set of an earlier call may be replaced.

    Raises:
        DataError: It holds something else, or cannot be read.
    """

    def __init__(self, folder: pathlib.Path, inputs: Sequence[pathlib.Path], overwrite: bool):
        # What a link leads to is written, not the link replaced.
        self._path = folder.resolve()
        for source in inputs:
            if self._path in (source.resolve(), *source.resolve().parents):
                raise DataError(f"--output={folder} holds the input {source}. Name another folder.")
        try:
            self._held = _files(self._path) if os.path.isdir(self._path) else {}
        except OSError as error:
            raise DataError(f"Cannot read {folder}: {error.strerror}.") from error
        if self._held and not overwrite:
            raise DataError(
                f"{folder} is not empty ({min(self._held)} ...). Name another folder with --output,"
                " or replace it with --overwrite."
            )
        foreign = sorted(self._held.keys() - _WRITTEN)
        if foreign or (self._held and REPORT not in self._held):
            problem = f"holds {foreign[0]}, which" if foreign else f"has no {REPORT}, so"
            raise DataError(
                f"{folder} {problem} no earlier call wrote{'' if foreign else ' it'}; --overwrite"
                " replaces prepared data sets only. Name another folder with --output."
            )

    def publish(self, write: Callable[[pathlib.Path], None]) -> None:
        """Calls `write(folder)` for a new folder, and puts that in the place of this one.

        Raises:
            DataError: The folder cannot be written, or is not as it was found. What is in it then
                stays.
        """
        parent = self._path.parent
        try:
            parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(f"Cannot create {parent}: {error.strerror}.") from error
        try:
            with partial_folder(parent) as fresh:
                write(fresh)
                # No other call takes the place between the two renames.
                with locked(parent):
                    old = self._set_aside()
                    try:
                        # The system refuses this where a file has appeared.
                        fresh.rename(self._path)
                    except BaseException:
                        if old:
                            old.rename(self._path)
                        raise
            if old:
                for name in self._held:
                    (old / name).unlink()
                # Not removed with what is in it: that would be somebody else's.
                old.rmdir()
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                raise self._changed() from error
            raise DataError(f"Cannot write {self._path}: {error}.") from error

    def _set_aside(self) -> pathlib.Path | None:
        """Renames an earlier data set, if it is still the one that was found."""
        if not self._held:
            return None
        old = self._path.with_name(f".{self._path.name}.{secrets.token_hex(4)}.old")
        self._path.rename(old)
        if _files(old) != self._held:
            old.rename(self._path)
            raise self._changed()
        return old

    def _changed(self) -> DataError:
        return DataError(
            f"{self._path} has changed since this program began to read: another program has"
            " written to it. Nothing in it was replaced. Name another folder with --output."
        )


def _files(folder: pathlib.Path) -> dict[str, tuple[int, int, int]]:
    """Returns what tells a file from a later one, by name; nothing if there is no folder."""
    try:
        found = {entry.name: entry.stat(follow_symlinks=False) for entry in os.scandir(folder)}
    except FileNotFoundError:
        return {}
    return {name: (s.st_ino, s.st_size, s.st_mtime_ns) for name, s in found.items()}
