"""RDF: N-Triples, Turtle, N-Quads, TriG and RDF/XML.

Parsed by pyoxigraph: it streams, and is strict where the standards are. rdflib, the usual choice,
parses in Python, at a sixth of the speed.
"""

import array
import collections
import dataclasses
import functools
import io
import pathlib
import re
from collections.abc import Iterator
from typing import Any
from xml.parsers import expat

import numpy as np
import pyarrow as pa

from datasets.readers.text_files import BYTE_ORDER_MARK, open_unpacked
from datasets.triples import COLUMNS
from quatre_tf.errors import DataError
from quatre_tf.paths import printable

# By suffix: the name of the format in pyoxigraph.
FORMATS = {
    ".nt": "N_TRIPLES",
    ".ttl": "TURTLE",
    ".nq": "N_QUADS",
    ".trig": "TRIG",
    ".rdf": "RDF_XML",
    ".owl": "RDF_XML",
}
_LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
# The label that pyoxigraph draws for a blank node without one: 128 bits, without leading zeros.
_DRAWN = re.compile("[0-9a-f]{27,32}")
# Characters of an XML entity: they are used for prefixes. Longer ones, or one made of others, could
# make a small file fill the memory.
_MAX_ENTITY = 500


@dataclasses.dataclass(frozen=True, eq=False)
class RdfTriples:
    """What a file holds.

    Attributes:
        format: What the format is called: Turtle, RDF/XML, ...
        table: The columns head, relation and tail, dictionary-encoded: IRIs as they are, blank
            nodes as `_:name`, those without a name as `_:[number]`. Graph names are left out.
        labels: `rdfs:label` by the name of what is labeled; one in English or without a language
            goes before others, otherwise the first.
        literals: How many other triples had a literal for an object, by predicate.
    """

    format: str
    table: pa.Table
    labels: dict[str, str]
    literals: dict[str, int]


def read_rdf(
    path: str | pathlib.Path, *, keep_literals: bool = False, scope: str = ""
) -> RdfTriples:
    """Reads a file whose suffix is one of `FORMATS`, perhaps followed by .gz.

    Args:
        path: The file.
        keep_literals: Take literals for entities, named as N-Triples writes them
            (`"42"^^<http://www.w3.org/2001/XMLSchema#integer>`), instead of leaving them out.
        scope: Put before the labels of blank nodes, which mean nothing outside their file.

    Raises:
        DataError: `FILE:LINE: ...` for the first error; or the file cannot be read, or pyoxigraph
            is not installed.
    """
    path = pathlib.Path(path)
    try:
        import pyoxigraph
    except ImportError as error:
        raise DataError(f"{path}: RDF needs pyoxigraph: pip install 'pyoxigraph<0.6'.") from error
    suffix = pathlib.Path(path.name.lower().removesuffix(".gz")).suffix
    rdf_format = getattr(pyoxigraph.RdfFormat, FORMATS.get(suffix, FORMATS[".nt"]))
    ids: tuple[dict[str, int], ...] = ({}, {}, {})
    columns = [array.array("i") for _ in COLUMNS]
    labels: dict[str, tuple[bool, str]] = {}
    literals: collections.Counter[str] = collections.Counter()
    name_of = functools.partial(_name, scope=scope, numbers={})
    for quad in _quads(path, rdf_format):
        names = name_of(quad.subject), quad.predicate.value, name_of(quad.object)
        literal = quad.object if isinstance(quad.object, pyoxigraph.Literal) else None
        if literal and names[1] == _LABEL:
            # "en-GB" is English, too.
            preferred = (literal.language or "en").partition("-")[0] == "en"
            if names[0] not in labels or preferred > labels[names[0]][0]:
                labels[names[0]] = preferred, literal.value
            continue
        if literal:
            literals[names[1]] += 1
        if keep_literals or not literal:
            for known, column, name in zip(ids, columns, names, strict=True):
                column.append(known.setdefault(name, len(known)))
    table = pa.table([_encoded(*pair) for pair in zip(columns, ids, strict=True)], list(COLUMNS))
    chosen = {name: label for name, (_, label) in labels.items()}
    return RdfTriples(rdf_format.name, table, chosen, dict(literals.most_common()))


def _quads(path: pathlib.Path, rdf_format: Any) -> Iterator[Any]:
    """Yields the statements of a file as pyoxigraph has them."""
    import pyoxigraph

    lines = None
    try:
        with open_unpacked(path) as opened:
            file: Any = opened
            if file.read(len(BYTE_ORDER_MARK)) != BYTE_ORDER_MARK:
                file.seek(0)
            if rdf_format == pyoxigraph.RdfFormat.RDF_XML:
                file = lines = _XmlLines(file)
            for quad in pyoxigraph.parse(file, format=rdf_format):
                if isinstance(quad.object, pyoxigraph.Triple):
                    raise DataError(
                        f"{path}: expected names and literals, received a triple as the object of"
                        f" {printable(f'{quad.subject} {quad.predicate}', 200)}. Remove it."
                    )
                yield quad
    except SyntaxError as error:
        line = lines.number if lines else error.lineno
        reason = str(error.msg)
        problem = " ".join((reason if lines else reason.partition(": ")[2]).split())
        raise DataError(
            f"{path}:{line}: expected {rdf_format.name}, received an error: {printable(problem)}."
            " Correct the line or remove it."
        ) from error
    except MemoryError as error:
        raise DataError(
            f"{path}: expected {rdf_format.name}, received a line or a name of over 16 MB. Correct"
            " the file."
        ) from error
    except OSError as error:
        raise DataError(f"Cannot read {path}: {error.strerror or error}.") from error


class _XmlLines:
    """Gives pyoxigraph a line at a time, after a check that the XML is well-formed.

    Its own errors in RDF/XML do not say where they are, and it takes a truncated file for a whole
    one.

    Attributes:
        number: The line that was given last, from 1.

    Raises:
        SyntaxError: The XML is not well-formed, or declares an entity that can grow.
    """

    def __init__(self, file: Any):
        self.number = 0
        self._lines, self._line = io.BufferedReader(file), io.BytesIO()
        self._checker = expat.ParserCreate()
        self._checker.EntityDeclHandler = _check_entity

    def read(self, size: int = -1) -> bytes:
        """Returns the next bytes of the line, or of the next one; at the end none."""
        if data := self._line.read(size):
            return data
        line = self._lines.readline()
        self.number += bool(line)
        try:
            self._checker.Parse(line, not line)
        except expat.ExpatError as error:
            raise SyntaxError(expat.ErrorString(error.code)) from error
        self._line = io.BytesIO(line)
        return self._line.read(size)


def _check_entity(name: str, is_parameter: bool, value: str | None, *_where: Any) -> None:
    if is_parameter or value is None or "&" in value or len(value) > _MAX_ENTITY:
        raise SyntaxError(
            f"the entity {printable(name)} does not stand for at most {_MAX_ENTITY} characters"
            " without other entities; write out what it stands for"
        )


def _name(term: Any, scope: str, numbers: dict[str, int]) -> str:
    """Names a term: an IRI as it is; a blank node or a literal as N-Triples writes it.

    Blank nodes without a label are numbered: pyoxigraph draws theirs anew each time.
    """
    text = str(term)
    if text[0] != "_":
        return text[1:-1] if text[0] == "<" else text
    label = text[2:]
    if _DRAWN.fullmatch(label):
        label = f"[{numbers.setdefault(label, len(numbers) + 1)}]"
    return f"_:{scope}{label}"


def _encoded(column: array.array, ids: dict[str, int]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(
        np.frombuffer(column, np.int32), pa.array(ids, pa.string())
    )
