"""The format of delimited text (CSV, TSV and similar), detected from its first lines.

Comma, semicolon, bar and space separated fields may be quoted (RFC 4180). Between TABs quotes are
plain characters, as in `datasets.triples`.
"""

import csv
import dataclasses
import io
import itertools
from collections.abc import Iterator, Mapping, Sequence

from quatre_tf.errors import DataError

DELIMITERS = {"tab": "\t", "comma": ",", "semicolon": ";", "bar": "|", "space": " "}
# What headers call the columns, in lower case.
TRIPLE_ROLES = {
    "head": "head subject source from start start_id head_id subject_id source_id head_entity src"
    " subj node1 h s",
    "relation": "relation predicate property relationship edge relation_type edge_type type label"
    " rel r p",
    "tail": "tail object target to end end_id tail_id object_id target_id tail_entity dst dest obj"
    " node2 t o",
}
LABEL_ROLES = {
    "name": "name id identifier entity entity_id iri uri node",
    "label": "label name title text entity_label",
}
_NO_DELIMITERS = '"\r\n\0'
_SAMPLE_BYTES = 1 << 16
_SAMPLE_ROWS = 100
_SHOWN = 60
_MAX_DIGITS = 9
# A name may have any length.
csv.field_size_limit(2**31 - 1)


@dataclasses.dataclass(frozen=True)
class Format:
    """What users may specify about a file; None is detected.

    Attributes:
        delimiter: A character, or a name of `DELIMITERS`.
        columns: The roles in the order of the file (head, tail, relation); or for each role in its
            usual order a column: a name of the header, or a number from 1.
        header: Whether the first line names the columns.
        strip: Take white space off both ends of every name.
    """

    delimiter: str | None = None
    columns: Sequence[str] | None = None
    header: bool | None = None
    strip: bool = False


UNKNOWN = Format()


@dataclasses.dataclass(frozen=True)
class Layout:
    """What a file is taken for.

    Attributes:
        delimiter: One character.
        first: Fields of the first line.
        header: Whether they are names of columns.
        places: Column of each role, from 0.
    """

    delimiter: str
    first: tuple[str, ...]
    header: bool
    places: tuple[int, ...]

    def __str__(self) -> str:
        names = {character: name for name, character in DELIMITERS.items()}
        separated = f"{names.get(self.delimiter, repr(self.delimiter))} separated"
        if not self.header:
            return f"{separated}, no header, columns {', '.join(str(p + 1) for p in self.places)}"
        return f"{separated}, header, columns {', '.join(self.first[p] for p in self.places)}"


def detect(data: bytes, origin: str, roles: Mapping[str, str], given: Format = UNKNOWN) -> Layout:
    """Detects the format of a text from its first lines; see `delimited.read_columns`."""
    # Any number of empty lines may come first.
    sample = data.lstrip(b"\r\n")[:_SAMPLE_BYTES].decode("utf-8", errors="replace")
    if not sample:
        return Layout("\t", tuple(roles), header=False, places=tuple(range(len(roles))))
    delimiter = DELIMITERS.get(given.delimiter or "", given.delimiter)
    if delimiter is None:
        delimiter = _most_regular(sample, len(roles), origin)
    elif len(delimiter) != 1 or not delimiter.isascii() or delimiter in _NO_DELIMITERS:
        names = ", ".join(DELIMITERS)
        raise DataError(
            f"Expected one ASCII character (but a quote or line break) or {names} for a delimiter,"
            f" received {delimiter!r}."
        )
    first = tuple(field.strip() for field in next(_rows(sample, delimiter), []))
    found = _header_places(first, roles)
    header = given.header if given.header is not None else found is not None
    if given.columns is None:
        places = found if header and found else _first_places(first, roles, origin)
    elif sorted(given.columns) == sorted(roles):
        # Where they are names of columns, these say where each role is; else their order does.
        order = first if header and set(roles) <= set(first) else tuple(given.columns)
        places = tuple(order.index(role) for role in roles)
    else:
        has_names = not all(column.isdecimal() for column in given.columns)
        if has_names and given.header is False:
            raise DataError(
                f"{origin}: without a header, columns have numbers from 1. Received --noheader and"
                f" --columns={_listed(given.columns)}."
            )
        header = header or has_names
        places = _named_places(given.columns, first if header else (), roles, origin)
    if max(places) >= len(first):
        raise DataError(
            f"{origin}: expected at least {max(places) + 1} columns, received {len(first)}:"
            f" {shown(delimiter.join(first))}. Mend --columns or --delimiter."
        )
    return Layout(delimiter, first, header, places)


def _most_regular(sample: str, minimum: int, origin: str) -> str:
    """Returns the delimiter that gives most lines the same number of fields."""
    best, regularity = "", 0.5
    for delimiter in DELIMITERS.values():
        widths = [len(row) for row in itertools.islice(_rows(sample, delimiter), _SAMPLE_ROWS)]
        usual = max(set(widths), key=widths.count, default=0)
        share = widths.count(usual) / max(len(widths), 1)
        if usual >= minimum and share > regularity:
            best, regularity = delimiter, share
    if not best:
        first = sample.partition("\n")[0]
        raise DataError(
            f"{origin}: expected at least {minimum} fields in each line, received"
            f" {shown(first)}. Name the delimiter:"
            f" --delimiter={'|'.join(DELIMITERS)} or a character. If it is one of these, look for"
            " lines of other widths and for a quote that is not closed."
        )
    return best


def _rows(text: str, delimiter: str) -> Iterator[list[str]]:
    """Yields the fields of each line that is not empty."""
    return (fields for _, fields in numbered_rows(text, delimiter))


def numbered_rows(
    text: str, delimiter: str, strict: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """Yields the number of the line where a row begins, and its fields; `strict` as in `csv`.

    Leaves out empty rows and, unless the delimiter is TAB, rows of delimiters alone, which
    spreadsheets export.
    """
    lines = io.StringIO(text, newline="")
    if delimiter == "\t":
        reader = csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE)
    else:
        reader = csv.reader(lines, delimiter=delimiter, strict=strict)
    line = 1
    for fields in reader:
        if any(field.strip() for field in fields) or (fields and delimiter == "\t"):
            yield line, fields
        line = reader.line_num + 1


def _header_places(first: Sequence[str], roles: Mapping[str, str]) -> tuple[int, ...] | None:
    """Returns the columns whose names say a role, if all roles are found."""
    # ":START_ID" is how Neo4j writes it.
    words = [field.strip('"').lstrip(":").lower().replace(" ", "_") for field in first]
    places: list[int] = []
    for names in roles.values():
        fits = [p for p, w in enumerate(words) if w in names.split() and p not in places]
        if not fits:
            return None
        places.append(fits[0])
    return tuple(places)


def _first_places(first: Sequence[str], roles: Mapping[str, str], origin: str) -> tuple[int, ...]:
    # Which of four columns make a triple cannot be guessed; labels come first in their files.
    if len(first) != len(roles) and roles is not LABEL_ROLES:
        raise DataError(
            f"{origin}: expected a header with {', '.join(roles)}, or {len(roles)} columns;"
            f" received {len(first)}: {_listed(first)}. Say which ones are meant: --columns="
            f"{','.join(str(n) for n in range(1, len(roles) + 1))} by number, or by name."
        )
    return tuple(range(len(roles)))


def _named_places(
    columns: Sequence[str], header: Sequence[str], roles: Mapping[str, str], origin: str
) -> tuple[int, ...]:
    if len(columns) != len(roles):
        raise DataError(
            f"Expected {len(roles)} columns ({', '.join(roles)}) in --columns, received"
            f" {_listed(columns)}."
        )
    places = []
    for column in columns:
        if column not in header and not (column.isdecimal() and len(column) <= _MAX_DIGITS):
            there = f" The header has {_listed(header)}." if header else ""
            raise DataError(f"{origin}: there is no column {shown(column)}.{there}")
        places.append(header.index(column) if column in header else int(column) - 1)
    if min(places) < 0:
        raise DataError("Columns in --columns are numbered from 1, received 0.")
    if len(set(places)) < len(places):
        raise DataError(
            f"Expected another column for each of {', '.join(roles)} in --columns, received"
            f" {_listed(columns)}."
        )
    return tuple(places)


def _listed(fields: Sequence[str]) -> str:
    """Returns fields for a message, in one line whatever is in them."""
    return ", ".join(shown(field)[1:-1] for field in fields)


def shown(text: str) -> str:
    """Returns the beginning of a text for a message."""
    return repr(text[:_SHOWN] + "…" * (len(text) > _SHOWN))
