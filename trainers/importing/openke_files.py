"""Reading the files of OpenKE and its forks: embeddings as JSON, names with their ids as text."""

import json
import pathlib
import reprlib
from typing import Any

import numpy as np

from datasets.readers.text_files import read_bytes, without_mark
from quatre_tf.errors import DataError
from quatre_tf.paths import check_regular


def read_weights(path: pathlib.Path) -> dict[str, np.ndarray]:
    """Reads the parameters of a model, as OpenKE's `json.dumps` of a state dict writes them.

    For a moment the whole file is in memory as Python objects: 8,000 x 1,024 floats, 169 MB of
    text, take 5 s and 0.5 GB, and both grow with the file.

    Args:
        path: The file.

    Returns:
        float32 arrays by key, `[rows, width]` for a table. Values that are not finite are kept.

    Raises:
        DataError: The file is missing, is not JSON, or a value is not a table, vector or number.
    """
    try:
        check_regular(path)
        with path.open(encoding="utf-8") as file:
            parameters = json.load(file)
        # Not float32 at once: a number beyond its range would be a warning, and is an infinity.
        with np.errstate(over="ignore"):
            return {key: _numbers(value).astype(np.float32) for key, value in parameters.items()}
    except OSError as error:
        raise DataError(f"Cannot read {path}: {error.strerror or error}.") from error
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise DataError(
            f"{path} is not the JSON of OpenKE ({error}). Expected "
            '{"ent_embeddings.weight": [[...], ...], ...}, copied to the end. Checkpoints of '
            "PyTorch are not read, because unpickling one runs whatever code is in it; the same "
            "training leaves the JSON beside it (save_embedding_matrix)."
        ) from error


def _numbers(value: Any) -> np.ndarray:
    array = np.array(value)
    # With a dtype, NumPy would make numbers of strings, truth values and null as well.
    if array.dtype.kind not in "if":
        raise ValueError(f"expected numbers, received {reprlib.repr(value)}")
    return array


def read_ids(path: pathlib.Path) -> list[str]:
    """Reads entity2id.txt or relation2id.txt: the number of names, then a name and its id a line.

    Name and id are separated by a TAB or spaces, so that names have none, as in OpenKE.

    Returns:
        The names, in the order of their ids.

    Raises:
        DataError: The file is missing or malformed, or its ids are not 0 to n - 1, n being the
            number in its first line.
    """
    lines = without_mark(read_bytes(path)).split(b"\n")
    names: dict[int, str] = {}
    expected = None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            if expected is None:
                expected = int(line)
                continue
            name, position = line.decode("utf-8").split()
            names[int(position)] = name
        except ValueError as error:
            wanted = "the number of names" if expected is None else "a name (no spaces) and its id"
            raise DataError(
                f"{path}:{number}: expected {wanted}, received {line[:60]!r}."
            ) from error
    if len(names) != expected or sorted(names) != list(range(expected)):
        raise DataError(
            f"{path}: expected each id from 0 to {(expected or 0) - 1:,} once, received "
            f"{len(names):,} ids. Was it copied to the end?"
        )
    return [names[position] for position in range(expected)]
