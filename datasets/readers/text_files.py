"""The bytes of text files, compressed or not, with limits on what is held."""

import pathlib
import sys
from collections.abc import Iterator
from typing import BinaryIO, cast

from datasets.readers.gunzip import Gunzip
from quatre_tf.errors import DataError
from quatre_tf.paths import check_regular, user_path

STANDARD_INPUT = pathlib.Path("-")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_CHUNK_BYTES = 2**20


def read_bytes(path: str | pathlib.Path) -> bytes:
    """Returns the bytes of a text file, decompressed when its name ends in .gz.

    Args:
        path: The file; `STANDARD_INPUT` for what is piped into the program.

    Raises:
        DataError: The file is not a regular one, cannot be read or decompressed, unpacks to more
            than text does, or holds a NUL character.
    """
    path = user_path(path)
    try:
        if path == STANDARD_INPUT:
            return b"".join(_text_chunks(sys.stdin.buffer, "standard input"))
        check_regular(path)
        if path.suffix.lower() != ".gz":
            with path.open("rb") as file:
                # Looked through before it is held: a sparse file has any size.
                for _ in _text_chunks(file, str(path)):
                    pass
                file.seek(0)
                return file.read()
        with Gunzip(path) as unpacked:
            return b"".join(_text_chunks(cast("BinaryIO", unpacked), str(path)))
    except OSError as error:
        raise DataError(f"Cannot read {path}: {error.strerror or error}.") from error


def _text_chunks(file: BinaryIO, origin: str) -> Iterator[bytes]:
    """Yields a file in pieces, up to the first NUL character."""
    line, is_utf_16 = 1, False
    for number, chunk in enumerate(iter(lambda: file.read(_CHUNK_BYTES), b"")):
        is_utf_16 = is_utf_16 or (number == 0 and chunk.startswith(_UTF_16_MARKS))
        place = chunk.find(b"\0")
        if place >= 0:
            line += chunk.count(b"\n", 0, place)
            received = "UTF-16" if is_utf_16 else "a NUL character"
            raise DataError(
                f"{origin}:{line}: expected UTF-8 text, received {received}."
                + (" Save it as UTF-8, for example with: iconv -f utf-16 -t utf-8." * is_utf_16)
            )
        line += chunk.count(b"\n")
        yield chunk


def without_mark(data: bytes) -> bytes:
    """Returns text without its byte order mark, or marks: Arrow takes a second one off silently."""
    while data.startswith(BYTE_ORDER_MARK):
        data = data[len(BYTE_ORDER_MARK) :]
    return data
