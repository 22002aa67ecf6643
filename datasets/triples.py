"""Text files of splits: one triple per line, head TAB relation TAB tail.

Everything between two TABs is the name, as it is: quotes are plain characters, and white space at
the ends of a name is kept (some graphs have names that differ only there), but a name must
not be empty or only white space. A byte order mark at the start and empty lines are accepted.
"""

import pathlib
from collections.abc import Sequence

import pyarrow as pa

from datasets.readers.delimited import parse
from datasets.readers.text_files import read_bytes, without_mark
from datasets.readers.text_format import Layout
from quatre_tf.data.vocabulary import as_lines

COLUMNS = ("head", "relation", "tail")
_LAYOUT = Layout("\t", COLUMNS, header=False, places=(0, 1, 2))


def read_triples(path: str | pathlib.Path) -> pa.Table:
    """Reads a split file (.txt or .tsv, or either of them compressed as .gz).

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


def parse_triples(data: bytes, origin: str) -> pa.Table:
    """Parses the bytes of a split file; see `read_triples`.

    Args:
        data: The text, UTF-8.
        origin: What to call it in messages, usually the path.
    """
    return parse(without_mark(data), origin, _LAYOUT, COLUMNS)


def write_triples(columns: Sequence[pa.Array], path: str | pathlib.Path) -> None:
    """Writes a file for `read_triples`.

    Args:
        columns: Heads, relations and tails, as `large_string`: names without TABs, line breaks and
            NUL characters.
        path: The file.
    """
    pathlib.Path(path).write_bytes(as_lines(*columns))
