import builtins
import gzip

import pytest

from datasets.ntriples import read_ntriples
from quatre_tf.errors import DataError

E = "http://example.org/"
TEXT = f"""\
# People.
<{E}anna> <{E}knows> <{E}bob> .

<{E}bob> <{E}knows> _:b0 .
<{E}anna> <{E}age> "42"^^<http://www.w3.org/2001/XMLSchema#integer> .
<{E}anna> <{E}motto> "one\\ntwo" .
<{E}anna> <http://www.w3.org/2000/01/rdf-schema#label> "Anne"@fr .
<{E}anna> <http://www.w3.org/2000/01/rdf-schema#label> "Anna"@en .
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
    found = read_ntriples(path)
    knows = f"{E}knows"
    anna_bob = (f"{E}anna", knows, f"{E}bob")
    assert rows(found) == [anna_bob, (f"{E}bob", knows, "_:b0"), anna_bob]
    assert found.labels == {f"{E}anna": "Anna", f"{E}bob": "Böb"}
    assert found.literals_left_out == 2


def test_literals_can_be_kept(path):
    found = read_ntriples(path, keep_literals=True)
    tails = [tail for _, _, tail in rows(found)]
    assert tails[2:4] == ['"42"^^<http://www.w3.org/2001/XMLSchema#integer>', '"one\\ntwo"']
    assert found.literals_left_out == 0
    assert len(found.labels) == 2


def test_english_labels_come_first(tmp_path):
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    lines = [f'<{E}a> {label} "{text}"@{tag} .' for text, tag in (("Ä", "de"), ("A", "en-GB"))]
    (tmp_path / "x.nt").write_text("\n".join([*lines, f"<{E}a> <{E}b> <{E}c> ."]), "utf-8")
    assert read_ntriples(tmp_path / "x.nt").labels == {f"{E}a": "A"}


def test_blank_nodes_have_a_scope_and_files_may_be_compressed(path):
    packed = path.with_suffix(".NT.GZ")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert rows(read_ntriples(packed, scope="people/"))[1][2] == "_:people/b0"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<http://a> <http://b> _:c .\n<http://a> <http://b> c .\n", r"x\.nt:2: .*object"),
        (b"<http://a> <http://b> <http://c d> .\n", r"x\.nt:1: .*Invalid IRI"),
        (b"<http://a> <http://b> <http://\xe9> .\n", r"x\.nt:1: .*UTF-8"),
        ("<http://a> <http://b> <http://c> .\n".encode("utf-16"), r"x\.nt:1: .*UTF-8"),
        (b"<http://a\\u000Ab> <http://b> <http://c> .\n", r"x\.nt:1: .*Invalid IRI code point"),
        (b"<a> <b> <c> .\n", r"x\.nt:1: .*No scheme found"),
        (b'<http://a> <http://b> "x .\n', r"x\.nt:1: .*Unexpected end"),
        (b'<http://a> <http://b> "\\uD800" .\n', r"x\.nt:1: .*not a valid unicode"),
        (b"<http://a> <http://b> <http://c> <http://g> .\n", r"x\.nt:1: .*dot"),
        (b"\xef\xbb\xbf<http://a> <http://b> <http://c> .\n", r"x\.nt:1: .*subject"),
        (b"<http://a> <http://b> <<( <http://c> <http://d> <http://e> )>> .\n",
         r"x\.nt: expected names and literals, received a triple as the object of <http://a>"),
        (b"#" * (17 * 2**20), r"x\.nt: expected lines of N-Triples, received one of over 16 MB"),
    ],
)  # fmt: skip
def test_errors_are_located(tmp_path, content, message):
    (tmp_path / "x.nt").write_bytes(content)
    with pytest.raises(DataError, match=message) as error:
        read_ntriples(tmp_path / "x.nt")
    assert "\n" not in str(error.value)


def test_damaged_gzip(tmp_path):
    (tmp_path / "x.nt.gz").write_bytes(gzip.compress(TEXT.encode())[:-9])
    with pytest.raises(DataError, match=r"x\.nt\.gz: expected a whole gzip file"):
        read_ntriples(tmp_path / "x.nt.gz")


def test_the_parser_is_optional(path, monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name == "pyoxigraph":
            raise ImportError
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(DataError, match=r"pip install -e '\.\[prepare\]'"):
        read_ntriples(path)
