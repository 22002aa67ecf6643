"""Reading the files of OpenKE and its forks: embeddings as JSON, names with their ids as text."""

import json
import pathlib
import reprlib
from typing import Any

import numpy as np

from datasets.readers.text_files import read_bytes, without_mark
from quatre_tf.errors import DataError
from quatre_tf.paths import check_regular

# An id of more digits is that of no row.
_MAX_DIGITS = 18
# How torch.save begins: a zip archive, or a bare pickle in older versions.
_TORCH_MAGIC = (b"PK", b"\x80")
_NUMBERS = {int, float}
_EXPECTED = 'expected the JSON of OpenKE, {"ent_embeddings.weight": [[...], ...], ...}'


def read_weights(path: pathlib.Path) -> dict[str, np.ndarray]:
    """Reads the parameters of a model, as OpenKE's `json.dumps` of a state dict writes them.

    For a moment the whole file is in memory as Python objects: 8,000 x 1,024 floats, 169 MB of
    text, take 5 s and 0.5 GB, and both grow with the file.

    Args:
        path: The file.

    Returns:
        float32 arrays by key, `[rows, width]` for a table. Values that are not finite are kept.

    Raises:
        DataError: The file is missing, is not JSON, has a key twice, or a value is not a table,
            vector or number.
    """
    _check_start(path)
    try:
        with path.open(encoding="utf-8") as file:
            parameters = json.load(file, object_pairs_hook=_distinct)
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"{path} is not JSON ({error}): {_EXPECTED}. Was it copied to the end?"
        ) from error
    return {key: _array(value, f"{path}: {key}") for key, value in parameters.items()}


def read_ids(path: pathlib.Path) -> list[str]:
    """Reads entity2id.txt or relation2id.txt: the number of names, then a name and its id a line.

    Name and id are separated by a TAB or spaces, so that names have none, as in OpenKE.

    Returns:
        The names, in the order of their ids.

    Raises:
        DataError: The file is missing or malformed, its number of names is another than its first
            line says, or ids are not 0 to n - 1 or names are there twice.
    """
    lines = without_mark(read_bytes(path)).split(b"\n")
    entries = [(number, line.split()) for number, line in enumerate(lines, start=1) if line.strip()]
    first = entries[0][1] if entries else []
    if len(first) != 1 or not first[0].isdigit() or len(first[0]) > _MAX_DIGITS:
        raise DataError(
            f"{path}:1: expected the number of names alone, received {lines[0][:60]!r}."
        )
    expected = int(first[0])
    if len(entries) - 1 != expected:
        raise DataError(
            f"{path}: its first line promises {expected:,} names, received {len(entries) - 1:,}. "
            "Was it copied to the end?"
        )
    ids: dict[str, int] = {}
    taken: set[int] = set()
    for number, fields in entries[1:]:
        name, position = _entry(fields, f"{path}:{number}")
        if name in ids:
            raise DataError(f"{path}:{number}: the name {name!r} is there a second time.")
        if position >= expected or position in taken:
            raise DataError(
                f"{path}:{number}: {name!r} has the id {position}. Expected ids from 0 to "
                f"{expected - 1}, each once."
            )
        ids[name] = position
        taken.add(position)
    return sorted(ids, key=ids.__getitem__)


def _check_start(path: pathlib.Path) -> None:
    """Raises DataError if a file does not begin like a JSON object."""
    try:
        check_regular(path)
        with path.open("rb") as file:
            start = file.read(64).lstrip()
    except OSError as error:
        raise DataError(f"Cannot read {path}: {error.strerror or error}.") from error
    if start.startswith(b"{"):
        return
    if start.startswith(_TORCH_MAGIC):
        raise DataError(
            f"{path} is a PyTorch checkpoint: {_EXPECTED}. Checkpoints are not read, because "
            "unpickling one runs whatever code is in it. The same training leaves the JSON beside "
            "it (save_embedding_matrix)."
        )
    raise DataError(f"{path} is not JSON: {_EXPECTED}, received {start[:20]!r} at its start.")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Makes an object of JSON, of which the default takes the last of several equal keys."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is there twice")
    return found


def _array(value: Any, what: str) -> np.ndarray:
    """Returns a number, a vector or a table as float32."""
    rows = value if _has_rows(value) else [value if isinstance(value, list) else [value]]
    for row in rows:
        # NumPy would make numbers of strings, truth values and null as well.
        if not isinstance(row, list) or not set(map(type, row)) <= _NUMBERS:
            raise DataError(
                f"{what}: expected a table, a vector or a number, received {reprlib.repr(row)}."
            )
    if len({len(row) for row in rows}) > 1:
        raise DataError(f"{what}: expected a table with rows of one width.")
    try:
        # Not float32 at once: a number beyond its range would be a warning, and is an infinity.
        with np.errstate(over="ignore"):
            return np.array(value, np.float64).astype(np.float32)
    except OverflowError as error:
        raise DataError(f"{what}: a number is too large ({error}).") from error


def _has_rows(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(row, list) for row in value)


def _entry(fields: list[bytes], where: str) -> tuple[str, int]:
    try:
        name, position = (field.decode("utf-8") for field in fields)
    except ValueError:
        name, position = "", ""
    if not (position.isascii() and position.isdigit() and len(position) <= _MAX_DIGITS):
        raise DataError(
            f"{where}: expected a name without spaces, a TAB or spaces, and its id, received "
            f"{b' '.join(fields)[:60]!r}."
        )
    return name, int(position)
