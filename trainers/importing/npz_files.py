"""Reading embeddings as NumPy's `.npz` files, and names as text."""

import pathlib
import zipfile
import zlib

import numpy as np

from datasets.readers.text_files import decoded, read_bytes, without_mark
from quatre_tf.errors import DataError
from quatre_tf.paths import check_regular

_PREFIX = "table_"
# What NumPy raises for a file that is damaged, or is none of its own.
_UNREADABLE = (
    *(OSError, EOFError, ValueError, TypeError, AttributeError, RuntimeError),
    *(zipfile.BadZipFile, zlib.error),
)
_NAMES = ("entity_names", "relation_names")


def read_arrays(path: pathlib.Path) -> dict[str, np.ndarray]:
    """Returns the arrays of a file by name, numbers as float32; `table_` is left out of names.

    Raises:
        DataError: The file is missing, no `.npz` archive, or holds anything but numbers and names.
    """
    try:
        check_regular(path)
        with np.load(path) as archive:
            is_checkpoint = any(name.endswith("data.pkl") for name in archive.files)
            names = [] if is_checkpoint else archive.files
            arrays = {name.removeprefix(_PREFIX): archive[name] for name in names}
    except _UNREADABLE as error:
        raise DataError(
            f"{path} cannot be read as an .npz file of tables ({error}). Expected what "
            "numpy.savez(file, entity=..., relation=...) writes."
        ) from error
    if is_checkpoint:
        raise DataError(
            f"{path} is a PyTorch checkpoint, such as PyKEEN's trained_model.pkl. It is not read, "
            "because unpickling one runs whatever code is in it. docs/importing.md shows how to "
            "save its tables as .npz."
        )
    return {name: _checked(name, array, path) for name, array in arrays.items()}


def _checked(name: str, array: np.ndarray, path: pathlib.Path) -> np.ndarray:
    if name in _NAMES:
        if array.ndim != 1 or array.dtype.kind != "U":
            raise DataError(f"{path}: {name} must be a vector of strings, is {array.dtype}.")
        return array
    if array.dtype.kind not in "fiu":
        raise DataError(f"{path}: {name} must hold real numbers, is {array.dtype}.")
    # A number beyond the range of float32 becomes an infinity, which is refused later.
    with np.errstate(over="ignore"):
        return array.astype(np.float32)


def take_names(arrays: dict[str, np.ndarray]) -> list[list[str]]:
    """Removes the names of entities and of relations from arrays, and returns those there are."""
    return [arrays.pop(name).tolist() for name in _NAMES if name in arrays]


def read_names(path: pathlib.Path) -> list[str]:
    """Returns the lines of a UTF-8 text file, the name of a row each.

    Raises:
        DataError: The file is missing or not UTF-8.
    """
    text = decoded(without_mark(read_bytes(path)), str(path)).replace("\r\n", "\n")
    return text.removesuffix("\n").split("\n")
