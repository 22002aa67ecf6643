"""The bytes of text files, compressed or not, with limits on what is held."""

import gzip
import io
import os
import pathlib
import sys
import zlib
from typing import IO, cast

from quatre_tf.errors import DataError
from quatre_tf.paths import check_regular, user_path

STANDARD_INPUT = pathlib.Path("-")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_CHUNK_BYTES = 2**20
# Text compresses to about a tenth, one line repeated forever to a thousandth: a file above this
# ratio is a decompression bomb or repeats itself hundreds of times.
_MAX_RATIO = 200
# Allowed at any ratio.
_FREE_BYTES = 256 * 2**20


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
            if sys.stdin is None:
                raise DataError("Standard input is closed. Pipe triples into the program.")
            return _text(sys.stdin.buffer, "standard input")
        with open_unpacked(path) as file:
            return _text(file, str(path))
    except OSError as error:
        raise DataError(f"Cannot read {path}: {error.strerror or error}.") from error


def _text(file: IO[bytes], origin: str) -> bytes:
    """Returns a file; stops at the first NUL: a huge sparse file is not read into memory."""
    line, is_utf_16, text = 1, False, io.BytesIO()
    for number, chunk in enumerate(iter(lambda: file.read(_CHUNK_BYTES), b"")):
        is_utf_16 = is_utf_16 or (number == 0 and chunk.startswith(_UTF_16_MARKS))
        place = chunk.find(b"\0")
        if place >= 0:
            line += chunk.count(b"\n", 0, place)
            received = "UTF-16" if is_utf_16 else "a NUL character"
            raise DataError(
                f"{origin}:{line}: expected UTF-8 text, received {received}."
                + (
                    " Save it as UTF-8, for example with: iconv -f utf-16 -t utf-8."
                    if is_utf_16
                    else " If it is compressed (not by gzip) or a spreadsheet, export it as text."
                )
            )
        line += chunk.count(b"\n")
        text.write(chunk)
    return text.getvalue()


def without_mark(data: bytes) -> bytes:
    """Returns text without its byte order mark, or marks: Arrow takes a second one off silently."""
    while data.startswith(BYTE_ORDER_MARK):
        data = data[len(BYTE_ORDER_MARK) :]
    return data


def decoded(data: bytes, origin: str) -> str:
    """Returns UTF-8 text.

    Args:
        data: Its bytes.
        origin: What to call it in messages, usually the path.

    Raises:
        DataError: `ORIGIN:LINE: ...` for what is not UTF-8.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{origin}:{line}: expected UTF-8 text, received"
            f" {data[max(0, error.start - 20) : error.end + 20]!r}. Save it as UTF-8, for example"
            " with: iconv -f latin1 -t utf-8."
        ) from error


def open_unpacked(path: pathlib.Path) -> IO[bytes]:
    """Opens a file for reading, decompressed when its name ends in .gz.

    Raises:
        DataError: The file is not a regular one.
        OSError: It cannot be opened.
    """
    check_regular(path)
    return cast("IO[bytes]", Gunzip(path)) if path.suffix.lower() == ".gz" else path.open("rb")


class Gunzip(gzip.GzipFile):
    """A gzip file for reading whose content is bounded, relative to its size.

    Args:
        path: The file.

    Raises:
        OSError: The file cannot be opened.
    """

    def __init__(self, path: str | os.PathLike):
        super().__init__(path, "rb")
        self._limit = max(_FREE_BYTES, _MAX_RATIO * os.path.getsize(path))
        self._received = 0

    def read(self, size: int | None = -1) -> bytes:
        """Returns the next `size` bytes, or all that are left.

        Raises:
            DataError: It is no gzip file, is damaged, or unpacks to more than the limit.
        """
        if size is None or size < 0:
            return b"".join(iter(lambda: self.read(_CHUNK_BYTES), b""))
        try:
            data = super().read(size)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise DataError(
                f"{self.name}: expected a whole gzip file, received a damaged or truncated one"
                f" ({error}). Copy or compress it again."
            ) from error
        self._received += len(data)
        if self._received > self._limit:
            raise DataError(
                f"{self.name}: expected compressed text, received a file that unpacks to more than"
                f" {_MAX_RATIO} times its size. If that is right, unpack it yourself (gunzip) and"
                " name the unpacked file."
            )
        return data
