"""What `datasets.prepare` reads: delimited text against Python's own reader, and N-Triples."""

import csv
import io
import json

from hypothesis import example, given
from hypothesis import strategies as st

from datasets.readers.delimited import read_columns
from datasets.readers.rdf import read_rdf
from datasets.readers.text_format import TRIPLE_ROLES, Format
from tests.fuzz.fuzzing import attempt, fuzz, mutated

DELIMITERS = ["\t", ",", ";", "|", " ", "#"]
fields = st.sampled_from(["a", "b", "c d", "x,y", "NA", ""]) | st.text(
    st.sampled_from("ab\"',; é\0\r\n\t\x1c\u00a0\u2028"), max_size=3
)
rows = st.lists(st.lists(fields, min_size=3, max_size=3) | st.lists(fields, max_size=5), max_size=6)


@st.composite
def texts(draw):
    """Text as Python writes it, or with fields joined as they are."""
    table, delimiter = draw(rows), draw(st.sampled_from(DELIMITERS))
    if draw(st.booleans()):
        table = [["head", "relation", "tail"], *table]
    end = draw(st.sampled_from(["\n", "\r\n"]))
    if draw(st.booleans()):
        return end.join(delimiter.join(row) for row in table).encode()
    written = io.StringIO(newline="")
    csv.writer(written, delimiter=delimiter, lineterminator=end).writerows(table)
    return written.getvalue().encode()


@st.composite
def formats(draw):
    """Nothing known, or everything."""
    if draw(st.booleans()):
        return Format(strip=draw(st.booleans()))
    return Format(draw(st.sampled_from(DELIMITERS)), ["1", "2", "3"], draw(st.booleans()))


def plain_columns(data, layout, strip):
    """Returns rows of names, or None where a row does not fit."""
    text = io.StringIO(data.decode("utf-8", errors="replace").lstrip("\ufeff"), newline="")
    quoting = csv.QUOTE_NONE if layout.delimiter == "\t" else csv.QUOTE_MINIMAL
    read = [row for row in csv.reader(text, delimiter=layout.delimiter, quoting=quoting) if row]
    if layout.delimiter != "\t":
        read = [row for row in read if any(map(str.strip, row))]
    found = []
    for row in read[int(layout.header) :]:
        is_header = layout.header and tuple(map(str.strip, row)) == layout.first
        if len(row) != len(layout.first) or row[0].startswith("\ufeff") or is_header:
            return None
        names = [row[place] for place in layout.places]
        if not all(map(str.strip, names)) or not set("\t\n\r\0").isdisjoint("".join(names)):
            return None
        found.append([name.strip() for name in names] if strip else names)
    return found or None


@fuzz()
@given(data=mutated(texts()) | st.binary(max_size=40), known=formats())
@example(data=b'a\ta\t";"""\na\ta\ta\n";"""\t";"""\n', known=Format())
@example(data=b"\nhead,relation,tail\na,r,b\n", known=Format())
@example(data=b",,\nhead,relation,tail\na,r,b\n", known=Format())
@example(data=b",,\n,,\n", known=Format())
@example(data=b" \n", known=Format(",", ["1", "2", "3"], True))
@example(data="a,\u00a0,b\nc,r,d\n".encode(), known=Format(strip=True))
@example(data=b"head\tead\trelation\t\x80tail\n", known=Format("\t", ["1", "2", "3"], False))
def test_delimited_text(data, known, tmp_path):
    path = tmp_path / "facts.csv"
    path.write_bytes(data)
    read, refusal = attempt(read_columns, path, TRIPLE_ROLES, known)
    if not refusal:
        table, layout = read
        received = [list(row) for row in zip(*(c.to_pylist() for c in table.columns), strict=True)]
        assert received == plain_columns(data, layout, known.strip)


iris = st.sampled_from(["<http://a>", "<http://b/c#d>", "<urn:é>"])
nodes = iris | st.sampled_from(["_:b0", "_:x"])
literals = st.text(st.sampled_from("a'\\né"), max_size=3).map(json.dumps)
statements = st.tuples(nodes, iris, nodes | literals).map(" ".join).map("{} .\n".format)


@fuzz()
@given(data=mutated(st.lists(statements).map("".join).map(str.encode)))
def test_n_triples(data, tmp_path):
    path = tmp_path / "facts.nt"
    path.write_bytes(data)
    read, refusal = attempt(read_rdf, path)
    assert refusal or len(read.table) + sum(read.literals.values()) <= data.count(b".")
