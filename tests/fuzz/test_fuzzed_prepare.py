"""What `datasets.prepare` reads: delimited text against Python's own reader, and N-Triples."""

import csv
import io

from hypothesis import assume, example, given
from hypothesis import strategies as st

from datasets.catalog import read_graph
from datasets.custom_dataset import Source, prepare
from datasets.readers.delimited import read_columns
from datasets.readers.rdf import read_rdf
from datasets.readers.text_format import TRIPLE_ROLES, Format
from datasets.splitting import SplitOptions
from quatre_tf.data.encoding import SPLITS
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


iris = st.sampled_from(["http://a", "http://b/c#d", "urn:é"])
labels = st.sampled_from(["b0", "x"])
literals = st.text(st.sampled_from('a"\\\n\té'), max_size=3)
ESCAPES = str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r"})


@st.composite
def statements(draw):
    """A line of N-Triples, and the triple of it (None: it has a literal)."""
    head = draw(iris | labels.map("_:{}".format))
    relation = draw(iris)
    tail = draw(iris | labels.map("_:{}".format) | literals.map(lambda text: (text,)))
    if isinstance(tail, tuple):
        return f'{_term(head)} <{relation}> "{tail[0].translate(ESCAPES)}" .\n', None
    return f"{_term(head)} <{relation}> {_term(tail)} .\n", (head, relation, tail)


def _term(name):
    return name if name.startswith("_:") else f"<{name}>"


@fuzz()
@given(given_statements=st.lists(statements(), max_size=5))
def test_n_triples(given_statements, tmp_path):
    path = tmp_path / "facts.nt"
    path.write_text("".join(line for line, _ in given_statements), encoding="utf-8")
    read = read_rdf(path)
    triples = [triple for _, triple in given_statements if triple]
    assert [tuple(row.values()) for row in read.table.to_pylist()] == triples
    assert sum(read.literals.values()) == len(given_statements) - len(triples)


@fuzz()
@given(data=mutated(st.lists(statements().map(lambda pair: pair[0])).map("".join).map(str.encode)))
def test_n_triples_of_others(data, tmp_path):
    path = tmp_path / "facts.nt"
    path.write_bytes(data)
    read, refusal = attempt(read_rdf, path)
    assert refusal or len(read.table) + sum(read.literals.values()) <= data.count(b".")


@fuzz(0.25)
@given(triples=st.lists(st.tuples(*[st.text("ab é,\"'", min_size=1, max_size=3)] * 3), min_size=4))
def test_prepared_triples_are_those_of_the_file(triples, tmp_path_factory):
    assume(all(name.strip() for triple in triples for name in triple))
    folder = tmp_path_factory.mktemp("fuzz")
    with (folder / "facts.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(triples)
    source = Source(folder / "facts.csv", format=Format(",", ["1", "2", "3"], header=False))
    _, refusal = attempt(prepare, source, folder / "out", SplitOptions("random"))
    if refusal:
        assert refusal.startswith("Nothing is left for")
        return
    graph = read_graph(folder / "out")
    names = (graph.entities.names, graph.relations.names, graph.entities.names)
    received = [
        tuple(column[i] for column, i in zip(names, triple, strict=True))
        for split in SPLITS
        for triple in graph.split(split)
    ]
    assert sorted(received) == sorted(set(triples))
