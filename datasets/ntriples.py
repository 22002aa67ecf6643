"""N-Triples: the line-based form of RDF.

Parsed by pyoxigraph (`pip install -e '.[prepare]'`): it streams, and is strict where the standard
is. rdflib, the usual choice, parses in Python, at a sixth of the speed.
"""

import array
import dataclasses
import functools
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from datasets.gunzip import Gunzip
from datasets.triples import COLUMNS
from quatre_tf.errors import DataError
from quatre_tf.paths import check_regular, printable

_LABEL = "http://www.w3.org/2000/01/rdf-schema#label"


@dataclasses.dataclass(frozen=True, eq=False)
class NTriples:
    """What a file holds.

    Attributes:
        table: The columns head, relation and tail, dictionary-encoded: IRIs as they are, blank
            nodes as `_:name`.
        labels: `rdfs:label` by the name of what is labelled; one in English or without a language
            goes before others, otherwise the first.
        literals_left_out: How many other triples had a literal for an object.
    """

    table: pa.Table
    labels: dict[str, str]
    literals_left_out: int


def read_ntriples(
    path: str | pathlib.Path, *, keep_literals: bool = False, scope: str = ""
) -> NTriples:
    """Reads a file, .nt or .nt.gz.

    Args:
        path: The file.
        keep_literals: Take literals for entities, named as N-Triples writes them
            (`"42"^^<http://www.w3.org/2001/XMLSchema#integer>`), instead of leaving them out.
        scope: Put before the labels of blank nodes, which mean nothing outside their file.

    Raises:
        DataError: `FILE:LINE: ...` for the first malformed line; or the file cannot be read, or
            pyoxigraph is not installed.
    """
    ids: tuple[dict[str, int], ...] = ({}, {}, {})
    columns = [array.array("i") for _ in COLUMNS]
    labels: dict[str, tuple[bool, str]] = {}
    left_out = 0
    for subject, predicate, value, literal in _statements(path, scope):
        if literal and predicate == _LABEL:
            # "en-GB" is English, too.
            preferred = (literal.language or "en").partition("-")[0] == "en"
            if subject not in labels or preferred > labels[subject][0]:
                labels[subject] = preferred, literal.value
        elif literal and not keep_literals:
            left_out += 1
        else:
            for known, column, name in zip(ids, columns, (subject, predicate, value), strict=True):
                column.append(known.setdefault(name, len(known)))
    table = pa.table([_encoded(*pair) for pair in zip(columns, ids, strict=True)], list(COLUMNS))
    return NTriples(table, {name: label for name, (_, label) in labels.items()}, left_out)


def _statements(path: str | pathlib.Path, scope: str) -> Iterator[tuple[str, str, str, Any]]:
    """Yields the names of subject, predicate and object, and the literal if the object is one."""
    try:
        import pyoxigraph
    except ImportError as error:
        raise DataError(
            f"{path}: N-Triples need pyoxigraph. Install it: pip install -e '.[prepare]'."
        ) from error
    path = pathlib.Path(path)
    opened: Callable = (
        Gunzip if path.suffix.lower() == ".gz" else functools.partial(open, mode="rb")
    )
    try:
        check_regular(path)
        with opened(path) as file:
            for quad in pyoxigraph.parse(file, format=pyoxigraph.RdfFormat.N_TRIPLES):
                if isinstance(quad.object, pyoxigraph.Triple):
                    raise DataError(
                        f"{path}: expected names and literals, received a triple as the object of"
                        f" {printable(f'{quad.subject} {quad.predicate}', 200)}. Remove it."
                    )
                literal = quad.object if isinstance(quad.object, pyoxigraph.Literal) else None
                head, tail = _name(quad.subject, scope), _name(quad.object, scope)
                yield head, quad.predicate.value, tail, literal
    except SyntaxError as error:
        problem = " ".join(str(error.msg).partition(": ")[2].split())
        raise DataError(
            f"{path}:{error.lineno}: expected a line of N-Triples, received an error:"
            f" {printable(problem)}. Mend the line or remove it."
        ) from error
    except MemoryError as error:
        raise DataError(
            f"{path}: expected lines of N-Triples, received one of over 16 MB. Mend the file."
        ) from error
    except OSError as error:
        raise DataError(f"Cannot read {path}: {error.strerror or error}.") from error


def _name(term: Any, scope: str) -> str:
    """Returns an IRI without its brackets; a blank node or a literal as N-Triples writes it."""
    text = str(term)
    if text[0] == "_":
        return f"_:{scope}{text[2:]}"
    return text[1:-1] if text[0] == "<" else text


def _encoded(column: array.array, ids: dict[str, int]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(
        np.frombuffer(column, np.int32), pa.array(ids, pa.string())
    )
