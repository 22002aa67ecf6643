import gzip
import re
import sys

import pytest

from datasets.readers.rdf import read_rdf
from quatre_tf.errors import DataError

E = "http://example.org/"
TEXT = f"""\
# People.
<{E}anna> <{E}knows> <{E}bob> .

<{E}bob> <{E}knows> _:b0 .
<{E}anna> <{E}age> "42"^^<http://www.w3.org/2001/XMLSchema#integer> .
<{E}anna> <{E}motto> "one\\ntwo" .
<{E}anna> <http://www.w3.org/2000/01/rdf-schema#label> "Anne"@fr .
<{E}anna> <http://www.w3.org/2000/01/rdf-schema#label> "Anna"@en-GB .
<{E}bob> <http://www.w3.org/2000/01/rdf-schema#label> "B\\u00f6b" .
<{E}anna> <http://www.w3.org/2000/01/rdf-schema#label> "Annie"@en .
<{E}anna> <{E}knows> <{E}bob> .
"""


def rows(found):
    return list(zip(*(column.to_pylist() for column in found.table.columns), strict=True))


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "people.nt"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_iris_labels_and_literals(path):
    found = read_rdf(path)
    knows = f"{E}knows"
    anna_bob = (f"{E}anna", knows, f"{E}bob")
    assert rows(found) == [anna_bob, (f"{E}bob", knows, "_:b0"), anna_bob]
    assert found.labels == {f"{E}anna": "Anna", f"{E}bob": "Böb"}
    assert found.literals == {f"{E}age": 1, f"{E}motto": 1}
    assert found.format == "N-Triples"


def test_literals_can_be_kept(path):
    found = read_rdf(path, keep_literals=True)
    tails = [tail for _, _, tail in rows(found)]
    assert tails[2:4] == ['"42"^^<http://www.w3.org/2001/XMLSchema#integer>', '"one\\ntwo"']
    assert found.literals == {f"{E}age": 1, f"{E}motto": 1}
    assert len(found.labels) == 2


def test_blank_nodes_have_a_scope_and_files_may_be_compressed(path):
    packed = path.with_suffix(".NT.GZ")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert rows(read_rdf(packed, scope="people/"))[1][2] == "_:people/b0"


PREFIX = f"@prefix : <{E}> .\n"
XML = f"""\
<?xml version="1.0"?>
<!DOCTYPE rdf:RDF [
  <!ENTITY e "{E}">
]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="{E}">
<rdf:Description rdf:about="&e;anna">
<e:knows rdf:resource="&e;bob"/>
<e:age>42</e:age>
</rdf:Description>
</rdf:RDF>
"""


@pytest.mark.parametrize(
    ("name", "content", "called"),
    [
        ("x.ttl", f'{PREFIX}:anna :knows :bob ; :age "42" .', "Turtle"),
        ("x.nq", f'<{E}anna> <{E}knows> <{E}bob> <{E}g> .\n<{E}anna> <{E}age> "42" .', "N-Quads"),
        ("x.trig", f'{PREFIX}:g {{ :anna :knows :bob }} :anna :age "42" .', "TriG"),
        ("x.rdf", XML, "RDF/XML"),
        ("X.OWL", XML, "RDF/XML"),
    ],
)
def test_formats(tmp_path, name, content, called):
    (tmp_path / name).write_text(content, encoding="utf-8")
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(content.encode("utf-8-sig")))
    for path in (tmp_path / name, tmp_path / f"{name}.gz"):
        found = read_rdf(path)
        assert rows(found) == [(f"{E}anna", f"{E}knows", f"{E}bob")]
        assert found.literals == {f"{E}age": 1}
        assert found.format == called


def test_blank_nodes_without_a_name_are_numbered(tmp_path):
    (tmp_path / "x.ttl").write_text(f"{PREFIX}[] :knows [ :knows _:a ], [] .")
    for _ in range(2):  # pyoxigraph draws other names each time.
        ends = [(head, tail) for head, _, tail in rows(read_rdf(tmp_path / "x.ttl"))]
        assert ends == [("_:[1]", "_:a"), ("_:[2]", "_:[1]"), ("_:[2]", "_:[3]")]


@pytest.mark.parametrize(
    "declaration",
    [
        '<!ENTITY a "&e;&e;">',
        f'<!ENTITY a "{"x" * 501}">',
        "<!ENTITY % a 'x'>",
        '<!ENTITY a SYSTEM "x">',
    ],
)
def test_entities_that_can_grow_are_refused(tmp_path, declaration):
    (tmp_path / "x.rdf").write_text(XML.replace("\n]>", f"\n{declaration}]>"))
    with pytest.raises(DataError, match=r"x\.rdf:4: expected RDF/XML, .*the entity a does not"):
        read_rdf(tmp_path / "x.rdf")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.ttl", f"{PREFIX}:a :b :c .\n:a : b .", "3: expected Turtle, .*object"),
        ("x.nq", "<http://a> <http://b> <http://c> .\n<http://a> .", "2: expected N-Quads"),
        ("x.rdf", XML.replace("&e;bob", "bob"), "7: expected RDF/XML, .*scheme"),
        ("x.rdf", XML.replace("<e:age>", '<!DOCTYPE a [<!ENTITY x "y">]><e:age>'), "8: "),
        ("x.nt", "<http://a> <http://b> _:c .\n<http://a> <http://b> c .\n", "2: .*object"),
        ("x.nt", "<http://a> <http://b> <http://\udce9> .\n", "1: .*UTF-8"),
        ("x.nt", '<http://a> <http://b> "\\uD800" .\n', "1: .*not a valid unicode"),
        ("x.nt", "<http://a> <http://b> <<( <http://c> <http://d> <http://e> )>> .\n",
         " expected names and literals, received a triple as the object of <http://a>"),
        ("x.nt", "#" * (17 * 2**20), " expected N-Triples, received a line or a .* over 16 MB"),
    ],
    ids=range(9),
)  # fmt: skip
def test_errors_are_located(tmp_path, name, content, message):
    (tmp_path / name).write_text(content, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(DataError, match=f"{re.escape(name)}:{message}") as error:
        read_rdf(tmp_path / name)
    assert "\n" not in str(error.value)


def test_the_parser_is_optional(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyoxigraph", None)
    with pytest.raises(DataError, match=r"pip install 'pyoxigraph<0\.6'"):
        read_rdf(path)
