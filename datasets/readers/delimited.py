"""Reading columns from delimited text.

The text is parsed in C++ as a whole. Line by line it is looked at only when that failed or may have
let an error through, to say where and why.
"""

import csv
import itertools
import pathlib
from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from datasets.readers.text_files import (
    BYTE_ORDER_MARK,
    STANDARD_INPUT,
    decoded,
    read_bytes,
    without_mark,
)
from datasets.readers.text_format import UNKNOWN, Format, Layout, detect, numbered_rows, shown
from quatre_tf.errors import DataError

# What no name may hold, because a line of a split file could not.
_UNWRITABLE = "[\t\n\r\x00]"
# Further lines that an error lists.
_MAX_OTHERS = 20


def read_columns(
    path: str | pathlib.Path, roles: Mapping[str, str], given: Format = UNKNOWN
) -> tuple[pa.Table, Layout]:
    """Reads the columns that have a role.

    Args:
        path: The file, UTF-8; may end in .gz. Empty lines are skipped.
        roles: Names that headers give to each role.
        given: What is known about the file.

    Returns:
        A table with a dictionary-encoded string column per role, and what was detected.

    Raises:
        DataError: The format cannot be told; or `FILE:LINE: ...` for the first line that does not
            fit, or has a name that is empty or holds a TAB, line break or NUL character.
    """
    data = without_mark(read_bytes(path))
    origin = "standard input" if pathlib.Path(path) == STANDARD_INPUT else str(path)
    layout = detect(data, origin, roles, given)
    table = parse(data, origin, layout, list(roles))
    return (_stripped(table) if given.strip else table), layout


def parse(data: bytes, origin: str, layout: Layout, roles: Sequence[str]) -> pa.Table:
    """Parses a text; see `read_columns`.

    Args:
        data: The text, UTF-8 without a byte order mark.
        origin: What to call it in messages, usually the path.
        layout: Its layout.
        roles: Names of the columns that are returned.
    """
    try:
        table = _parse_fast(data, layout, roles)
    except pa.ArrowInvalid:
        table = None
    if table is None or BYTE_ORDER_MARK in data or _is_suspicious(table, layout):
        table = _parse_slowly(data, origin, layout, roles)
    if not len(table):
        received = "a header alone" if layout.header else "an empty file"
        raise DataError(f"{origin}: expected {', '.join(roles)} in each line, received {received}.")
    return table


def _parse_fast(data: bytes, layout: Layout, roles: Sequence[str]) -> pa.Table:
    quoted = layout.delimiter != "\t"
    names = [str(place) for place in range(len(layout.first))]
    wanted = [names[place] for place in layout.places]
    strings = pa.dictionary(pa.int32(), pa.string())
    table = pa.csv.read_csv(
        # An empty line before the header would be skipped in its place.
        pa.py_buffer(data.lstrip(b"\r\n")),
        pa.csv.ReadOptions(column_names=names, skip_rows_after_names=int(layout.header)),
        pa.csv.ParseOptions(
            delimiter=layout.delimiter,
            quote_char='"' if quoted else False,
            newlines_in_values=quoted and b'"' in data,
        ),
        # A name may well be "NA": nothing stands for a missing value.
        pa.csv.ConvertOptions(
            column_types=dict.fromkeys(wanted, strings),
            include_columns=wanted,
            strings_can_be_null=False,
        ),
    )
    columns = [_in_one_piece(column) for column in table.unify_dictionaries().columns]
    return pa.table(columns, names=list(roles))


def _in_one_piece(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """Returns a column whose pieces, one a megabyte of text, have the same dictionary.

    Whoever puts them together otherwise looks up the whole dictionary once for each of them.
    """
    if not column.num_chunks:
        return pa.array([], pa.string()).dictionary_encode()
    indices = pa.concat_arrays([chunk.indices for chunk in column.chunks])
    return pa.DictionaryArray.from_arrays(indices, column.chunk(0).dictionary)


def _is_suspicious(table: pa.Table, layout: Layout) -> bool:
    """Tells whether a name or a line may be an error; `_parse_slowly` says where."""
    distinct = [column.chunk(0).dictionary for column in table.columns if len(column)]
    # The header may be repeated, in one line or in several.
    header = [layout.first[place].lower() for place in layout.places if layout.header]
    found = (
        pc.index(pc.utf8_lower(pc.utf8_trim_whitespace(names)), name).as_py() >= 0
        for names, name in zip(distinct, header, strict=False)
    )
    return (bool(header) and all(found)) or any(
        pc.index(pc.utf8_trim_whitespace(names), "").as_py() >= 0
        or pc.any(pc.match_substring_regex(names, _UNWRITABLE)).as_py()
        for names in distinct
    )


def _parse_slowly(data: bytes, origin: str, layout: Layout, roles: Sequence[str]) -> pa.Table:
    """Parses line by line; raises the error of the first line that does not fit, with others."""
    columns: list[list[str]] = [[] for _ in roles]
    first_error: DataError | None = None
    others: list[str] = []
    rows = numbered_rows(decoded(data, origin), layout.delimiter)
    try:
        for line, fields in itertools.islice(rows, int(layout.header), None):
            try:
                _check_row(fields, layout, roles, f"{origin}:{line}")
            except DataError as error:
                if first_error:
                    others.append(str(line))
                first_error = first_error or error
                if len(others) == _MAX_OTHERS:
                    break
                continue
            for column, place in zip(columns, layout.places, strict=True):
                column.append(fields[place])
    except csv.Error as error:
        raise DataError(f"{origin}: {error}. Look for a quote that is not closed.") from error
    if first_error:
        also = f" Also to mend: line {', '.join(others)}." if others else ""
        raise DataError(f"{first_error}{also}") from first_error
    arrays = [pa.array(column, pa.string()).dictionary_encode() for column in columns]
    return pa.table(arrays, names=list(roles))


def _stripped(table: pa.Table) -> pa.Table:
    columns = (column.combine_chunks() for column in table.columns)
    stripped = []
    for column in columns:
        # Names that differ in their spaces only become one.
        names = pc.utf8_trim_whitespace(column.dictionary).dictionary_encode()
        indices = names.indices.take(column.indices)
        stripped.append(pa.DictionaryArray.from_arrays(indices, names.dictionary))
    return pa.table(stripped, names=table.column_names)


def _lower(names: Sequence[str]) -> list[str]:
    return [name.strip().lower() for name in names]


def _check_row(fields: list[str], layout: Layout, roles: Sequence[str], where: str) -> None:
    text, is_tab = layout.delimiter.join(fields), layout.delimiter == "\t"
    if len(fields) != len(layout.first):
        raise DataError(
            f"{where}: expected {len(layout.first)} fields as in"
            f" {shown(layout.delimiter.join(layout.first))}, received {len(fields)}: {shown(text)}."
            f" Mend the line{'' if is_tab else '; quote fields that hold the delimiter'}."
        )
    if fields[0].startswith(BYTE_ORDER_MARK.decode()):
        raise DataError(
            f"{where}: expected a byte order mark at the start of the file only, received"
            f" {shown(text)}: files were joined that begin with one. Remove it (and, if it is one,"
            " the second header)."
        )
    if layout.header and _lower(fields) == _lower(layout.first):
        raise DataError(f"{where}: the header is there a second time. Remove the line.")
    for role, place in zip(roles, layout.places, strict=True):
        if not fields[place].strip():
            raise DataError(
                f"{where}: expected a name for the {role}, received none: {shown(text)}."
                " Fill it in, or remove the line."
            )
        if not set(_UNWRITABLE[1:-1]).isdisjoint(fields[place]):
            raise DataError(
                f"{where}: expected a {role} without TAB, line break and NUL, which a split file"
                f" cannot hold, received {shown(fields[place])}. Replace them; if a quote was"
                " opened by mistake, close it."
            )
