"""Split files: the reader against one that is eight lines of Python."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from datasets.triples import parse_triples
from quatre_tf.data.labels import read_labels
from quatre_tf.errors import DataError
from tests.fuzz.fuzzing import fuzz, mutated

BOM = b"\xef\xbb\xbf"
odd = st.text(st.sampled_from("ab\"' ,#\\é\0\r\t\n\x1c\x85\u00a0\u2028\ufeff🜁"), max_size=3)
names = st.sampled_from(["a", "b", "NA", "null", "-1", " a"]) | odd
lines = st.lists(names, min_size=3, max_size=3) | st.lists(names, min_size=1, max_size=5)
ends = st.sampled_from(["\n", "\n", "\n", "\r\n", "\n\n", "\r"])


@st.composite
def texts(draw):
    parts = draw(st.lists(st.tuples(lines.map("\t".join), ends), max_size=6))
    mark = draw(st.sampled_from([b"", BOM]))
    return mark + "".join(line + end for line, end in parts).encode()


def bare(data):
    """Without what is accepted at both ends."""
    return re.sub(rb"\A(\xef\xbb\xbf)+|[\r\n]+\Z", b"", data)


def plain_rows(data):
    """Returns (rows, number of the first bad line); one of them is None."""
    data, rows = re.sub(rb"\A(\xef\xbb\xbf)+", b"", data), []
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return None, data.count(b"\n", 0, error.start) + 1
    for number, line in enumerate(re.split("\r\n|\r|\n", text), start=1):
        fields = line.split("\t")
        right = len(fields) == 3 and all(field.strip() for field in fields)
        if line and (not right or line.startswith("\ufeff") or "\0" in line):
            return None, number
        if line:
            rows.append(tuple(fields))
    return rows, None


@fuzz()
@given(mutated(texts()) | st.binary(max_size=40))
@example("a\t\u00a0\tb\n".encode())
@example(b"a\t \tb\n")
@example("a\tr\tb\n".encode("utf-16"))
@example(BOM + BOM + b"a\tr\tb\n")
@example(BOM + b"a\tr\tb\n" + BOM + b"a\tr\tb\n")
def test_split_files(data):
    expected, line = plain_rows(data)
    if not expected:
        where = "here: " if expected == [] else f"here:{line}: "
        with pytest.raises(DataError, match=f"^{re.escape(where)}expected .*"):
            parse_triples(data, "here")
    else:
        table = parse_triples(data, "here")
        assert [tuple(row.values()) for row in table.to_pylist()] == expected


pairs = st.tuples(odd, odd).map("\t".join)


def plain_labels(data):
    found = {}
    for line in data.rstrip(b"\r\n").split(b"\n"):
        try:
            text = line.decode("utf-8").lstrip("\ufeff")
            name, label = text.removesuffix("\r").split("\t")
        except ValueError:
            return None
        found.setdefault(name, label)
    return found


@fuzz()
@given(data=mutated(texts() | st.lists(pairs).map("\n".join).map(str.encode)))
@example(data="\ufeff\ufeffa\tA\n\ufeffb\tB\n".encode())
def test_label_files(data, tmp_path):
    path = tmp_path / "labels.tsv"
    path.write_bytes(data)
    expected = plain_labels(data)
    if expected is None:
        with pytest.raises(DataError, match=r"labels\.tsv:\d+: expected a name, a TAB and a label"):
            read_labels(path)
    else:
        assert read_labels(path) == expected
