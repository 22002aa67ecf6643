"""Reading the files of OpenKE and its forks: embeddings as JSON, names with their ids as text."""

import json
import mmap
import pathlib
import re
from typing import Any

import numpy as np

from datasets.triples import read_bytes, without_mark
from quatre_tf.errors import DataError

# A list without a list in it: a row of a table, or a vector.
_INNERMOST_LIST = re.compile(rb"\[[^\[\]]*\]")
# An id of more digits is that of no row.
_MAX_DIGITS = 18
# How torch.save begins: a zip archive, or a bare pickle in older versions.
_TORCH_MAGIC = (b"PK", b"\x80")
_NUMBERS = {int, float}
_EXPECTED = 'expected the JSON of OpenKE, {"ent_embeddings.weight": [[...], ...], ...}'


def read_weights(path: pathlib.Path) -> dict[str, np.ndarray]:
    """Reads the parameters of a model, as OpenKE's `json.dumps` of a state dict writes them.

    The text is mapped and parsed row by row; `json.load` would hold all of it, and an object a
    number. 2,000 x 1,024 floats, 44 MB of text, take 0.9 s either way, and 53 MB (44 of them pages
    of the file, which the system can take back) instead of 125 MB. 40,943 x 1,024 floats, 0.9 GB
    of text, take 21 s and, beside the file's pages, 0.39 GB: little more than twice the table.

    Args:
        path: The file.

    Returns:
        float32 arrays by key, `[rows, width]` for a table. Values that are not finite are kept.

    Raises:
        DataError: The file is missing, is not JSON, has a key twice, or a value is not a table,
            vector or number.
    """
    rows: list[np.ndarray] = []
    skeleton = _skeleton(_mapped(path), rows, path)
    try:
        parameters = json.loads(skeleton, object_pairs_hook=_distinct)
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"{path} is not JSON ({error}): {_EXPECTED}. Was it copied to the end?"
        ) from error
    if not isinstance(parameters, dict):
        raise DataError(f"{path}: {_EXPECTED}, received JSON without keys.")
    return {key: _array(value, rows, f"{path}: {key}") for key, value in parameters.items()}


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
    for number, fields in entries[1:]:
        name, position = _entry(fields, f"{path}:{number}")
        if name in ids:
            raise DataError(f"{path}:{number}: the name {name!r} is there a second time.")
        ids[name] = position
    _check_ids(ids, path)
    return sorted(ids, key=ids.__getitem__)


def _mapped(path: pathlib.Path) -> mmap.mmap:
    """Maps a file that begins like JSON."""
    try:
        with path.open("rb") as file:
            start = file.read(64).lstrip()
            if start.startswith(b"{"):
                return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise DataError(f"Cannot read {path}: {error.strerror or error}.") from error
    if start.startswith(_TORCH_MAGIC):
        raise DataError(
            f"{path} is a PyTorch checkpoint: {_EXPECTED}. Checkpoints are not read, because "
            "unpickling one runs whatever code is in it. The same training leaves the JSON beside "
            "it (save_embedding_matrix)."
        )
    raise DataError(f"{path} is not JSON: {_EXPECTED}, received {start[:20]!r} at its start.")


def _skeleton(text: mmap.mmap, rows: list[np.ndarray], path: pathlib.Path) -> bytes:
    """Moves the innermost lists to `rows`; returns the rest, with lists of their positions.

    These are then the only innermost lists, so that nothing in the file is taken for one of them.
    """
    parts, end = [], 0
    for match in _INNERMOST_LIST.finditer(text):
        parts.append(text[end : match.start()] + b"[%d]" % len(rows))
        rows.append(_row(match.group(), f"{path}, byte {match.start():,}"))
        end = match.end()
    return b"".join([*parts, text[end:]])


def _row(text: bytes, where: str) -> np.ndarray:
    try:
        numbers = json.loads(text)
        # NumPy would make numbers of strings, truth values and null as well.
        if not set(map(type, numbers)) <= _NUMBERS:
            raise TypeError
        return _float32(numbers)
    except (ValueError, TypeError, OverflowError) as error:
        raise DataError(f"{where}: expected a list of numbers, received {text[:40]!r}.") from error


def _float32(numbers: float | list[float]) -> np.ndarray:
    # Not float32 at once: a number beyond its range would be a warning, and here is an infinity
    # like any other.
    with np.errstate(over="ignore"):
        return np.array(numbers, np.float64).astype(np.float32)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Makes an object of JSON, of which the default takes the last of several equal keys."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is there twice")
    return found


def _array(value: Any, rows: list[np.ndarray], what: str) -> np.ndarray:
    """Puts a value together again: a list of rows, a row or a number."""
    try:
        if type(value) in _NUMBERS:
            return _float32(value)
        if _is_position(value):
            return rows[value[0]]
        if isinstance(value, list) and all(map(_is_position, value)):
            return np.stack([rows[position] for (position,) in value])
    except (ValueError, OverflowError):
        raise DataError(f"{what}: expected a table of numbers with rows of one width.") from None
    raise DataError(f"{what}: expected a table, a vector or a number.")


def _is_position(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 1 and type(value[0]) is int


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


def _check_ids(ids: dict[str, int], path: pathlib.Path) -> None:
    """Expects 0 to n - 1, each once."""
    owners: dict[int, str] = {}
    for name, position in ids.items():
        if position in owners:
            raise DataError(
                f"{path}: {owners[position]!r} and {name!r} both have the id {position}. Expected "
                "each id once."
            )
        if position >= len(ids):
            raise DataError(
                f"{path}: {name!r} has the id {position}. Expected ids from 0 to {len(ids) - 1}, "
                f"for {len(ids):,} names."
            )
        owners[position] = name
