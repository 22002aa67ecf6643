"""The text of one split: a triple a line, head TAB relation TAB tail.

Everything between two TABs is the name, as it is: quotes are plain characters, and white space at
the ends of a name is kept (some graphs have names that differ in nothing else), but a name of
nothing else is none. A byte order mark at the start, CRLF line ends and empty lines at the end are
accepted.
"""

import pathlib
import sys
from collections.abc import Iterator, Sequence
from typing import BinaryIO, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from datasets.readers.gunzip import Gunzip
from quatre_tf.data.vocabulary import as_strings
from quatre_tf.errors import DataError
from quatre_tf.paths import check_regular, user_path

COLUMNS = ("head", "relation", "tail")
STANDARD_INPUT = pathlib.Path("-")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_CHUNK_BYTES = 2**20
_MAX_SHOWN = 60
_REMEDY = "Write one triple per line, with a TAB between the names."


def read_triples(path: str | pathlib.Path) -> pa.Table:
    """Reads a split file (.txt or .tsv, or either of them compressed as .gz).

    The file is read into memory as a whole and parsed in C++. Line by line it is looked at only
    when that failed, to say where and why.

    Args:
        path: The file; UTF-8.

    Returns:
        A table [num_triples] with the string columns head, relation and tail, dictionary-encoded
        (each distinct name is held once), in the order of the file.

    Raises:
        DataError: `FILE:LINE: ...` for the first malformed line; or the file is missing, empty or
            not a whole gzip file.
    """
    return parse_triples(read_bytes(path), str(path))


def write_triples(columns: Sequence[Sequence[str] | np.ndarray], path: str | pathlib.Path) -> None:
    """Writes a file for `read_triples`.

    Args:
        columns: Heads, relations and tails: names without TABs, line breaks and NUL characters.
        path: The file.
    """
    lines = pc.binary_join_element_wise(
        *map(as_strings, columns), pa.scalar("\t", pa.large_string())
    )
    with pathlib.Path(path).open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines.to_pylist())


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


def parse_triples(data: bytes, origin: str) -> pa.Table:
    """Parses the bytes of a split file; see `read_triples`.

    Args:
        data: The text, UTF-8.
        origin: What to call it in messages, usually the path.
    """
    data = without_mark(data).rstrip(b"\r\n")
    if not data:
        raise DataError(f"{origin}: expected triples, received an empty file. {_REMEDY}")
    try:
        table = _parse_fast(data)
    except pa.ArrowInvalid:
        table = None
    if table is None or _is_suspicious(data, table):
        return _parse_slowly(data, origin)
    return table


def _parse_fast(data: bytes) -> pa.Table:
    names = pa.dictionary(pa.int32(), pa.string())
    table = pa.csv.read_csv(
        pa.py_buffer(data),
        pa.csv.ReadOptions(column_names=list(COLUMNS)),
        pa.csv.ParseOptions(delimiter="\t", quote_char=False, ignore_empty_lines=False),
        # A name may well be "NA": nothing stands for a missing value.
        pa.csv.ConvertOptions(
            column_types=dict.fromkeys(COLUMNS, names), strings_can_be_null=False
        ),
    )
    columns = [_in_one_piece(column) for column in table.unify_dictionaries().columns]
    return pa.table(columns, names=list(COLUMNS))


def _in_one_piece(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """Returns a column whose pieces, one a megabyte of text, have the same dictionary.

    Whoever puts them together otherwise looks up the whole dictionary once for each of them.
    """
    indices = pa.concat_arrays([chunk.indices for chunk in column.chunks])
    return pa.DictionaryArray.from_arrays(indices, column.chunk(0).dictionary)


def _is_suspicious(data: bytes, table: pa.Table) -> bool:
    """Tells whether the fast parser may have let something through that is an error.

    It takes a lone carriage return for a line end and knows nothing against blank names, NUL and
    byte order marks.
    """
    lone_returns = data.count(b"\r") != data.count(b"\r\n")
    names = (pc.utf8_trim_whitespace(column.chunk(0).dictionary) for column in table.columns)
    return (
        lone_returns
        or b"\0" in data
        or BYTE_ORDER_MARK in data
        or any(pc.index(part, "").as_py() >= 0 for part in names)
    )


def _parse_slowly(data: bytes, origin: str) -> pa.Table:
    """Parses line by line; raises the error of the first malformed line."""
    lines = data.split(b"\n")
    rows = [_fields(line, f"{origin}:{number}") for number, line in enumerate(lines, start=1)]
    columns = [pa.array(column).dictionary_encode() for column in zip(*rows, strict=True)]
    return pa.table(columns, names=list(COLUMNS))


def _fields(line: bytes, where: str) -> list[str]:
    """Splits a line into its three names."""
    line = line.removesuffix(b"\r")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        raise _malformed(where, "UTF-8 text", line) from None
    fields = text.split("\t")
    if "\0" in text or "\r" in text:
        raise _malformed(where, "text without NUL characters and lone carriage returns", text)
    if len(fields) != len(COLUMNS):
        expected = f"{len(COLUMNS)} TAB-separated fields ({', '.join(COLUMNS)})"
        raise _malformed(where, expected, text, f"{len(fields)}: ")
    if text.startswith(BYTE_ORDER_MARK.decode()):
        raise _malformed(where, "a byte order mark at the start of the file only", text)
    for role, field in zip(COLUMNS, fields, strict=True):
        if not field.strip():
            raise _malformed(where, f"a name for the {role}", text, "none: ")
    return fields


def _malformed(where: str, expected: str, content: str | bytes, received: str = "") -> DataError:
    shown = repr(content[:_MAX_SHOWN])
    if len(content) > _MAX_SHOWN:
        shown = f"{shown[:-1]}…{shown[-1]}"
    return DataError(f"{where}: expected {expected}, received {received}{shown}. {_REMEDY}")
