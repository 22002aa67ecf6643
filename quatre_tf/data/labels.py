"""Human-readable labels of entities whose names are identifiers ("/m/0100mt": "El Paso")."""

import pathlib
from collections.abc import Mapping

from quatre_tf.errors import DataError
from quatre_tf.paths import check_regular


def read_labels(path: str | pathlib.Path, *, is_written: bool = False) -> dict[str, str]:
    """Reads a file of lines `name TAB label`, UTF-8; the first of several labels counts.

    Args:
        path: The file.
        is_written: Whether `write_labels` wrote it, so that names may hold TABs and byte order
            marks.

    Raises:
        DataError: `FILE:LINE: ...` for a malformed line, or when the file cannot be read.
    """
    labels: dict[str, str] = {}
    try:
        check_regular(path)
        data = pathlib.Path(path).read_bytes()
    except OSError as error:
        raise DataError(f"Cannot read {path}: {error.strerror or error}.") from error
    lines = data.rstrip(b"\r\n").split(b"\n")
    for number, line in enumerate(lines, start=1):
        try:
            text = line.decode("utf-8").removesuffix("\r")
            # Files that were joined have a byte order mark at each seam.
            fields = text.rsplit("\t", 1) if is_written else text.lstrip("\ufeff").split("\t")
            name, label = fields
        except ValueError as error:
            raise DataError(
                f"{path}:{number}: expected a name, a TAB and a label in UTF-8,"
                f" received {line[:60]!r}. Mend the line or remove the file."
            ) from error
        labels.setdefault(name, label)
    return labels


def write_labels(labels: Mapping[str, str], path: str | pathlib.Path) -> None:
    """Writes a file for `read_labels`; TABs and line breaks in a label become spaces."""
    lines = (f"{name}\t{' '.join(label.split())}\n" for name, label in labels.items())
    pathlib.Path(path).write_bytes("".join(lines).encode("utf-8"))
