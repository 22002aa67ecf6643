import functools
import gzip

import pytest

from quatre_tf import Graph
from quatre_tf.errors import DataError
from tests.quatre_tf.ranking.small_graph import small_graph
from trainers.prediction.questions import Question, make_question, make_questions, read_lines


def numbered(*lines):
    return [(f"q.tsv:{number}", line.split("|")) for number, line in enumerate(lines, start=1)]


def maker(graph):
    return functools.partial(make_question, graph)


def test_both_directions():
    found = make_questions(numbered("a|likes|?", "?|RULES|b"), maker(small_graph()))
    assert found == [Question("likes", "a", "tail"), Question("rules", "b", "head")]
    assert [question.fields for question in found] == [("a", "likes", "?"), ("?", "rules", "b")]


def test_an_entity_may_be_called_as_what_is_asked_for():
    splits = {split: [["?"], ["likes"], ["a"]] for split in ("train", "valid", "test")}
    graph = Graph.from_names("x", splits)
    for question in (Question("likes", "?", "tail"), Question("likes", "?", "head")):
        assert make_question(graph, *question.fields) == question
    assert make_question(graph, "?", "likes", "a") == Question("likes", "a", "head")
    assert make_questions(numbered("?|likes|"), maker(graph)) == [Question("likes", "?", "tail")]


TABS = '\ufeffa\tlikes\t?\r\n\n?\trules\t"b"\n\n'
COMMAS = 'a,likes,?\r\n\r\n?,"rules","""b"""\r\n'


@pytest.mark.parametrize(("name", "text"), [("q.tsv", TABS), ("q.txt", TABS), ("q.csv", COMMAS)])
@pytest.mark.parametrize("compress", [False, True])
def test_files(tmp_path, name, text, compress):
    path = tmp_path / (f"{name}.gz" if compress else name)
    path.write_bytes(gzip.compress(text.encode()) if compress else text.encode())
    fields = {1: ["a", "likes", "?"], 3: ["?", "rules", '"b"']}
    assert read_lines(path) == [(f"{path}:{line}", found) for line, found in fields.items()]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("q.tsv", b"", "expected questions, received an empty file"),
        ("q.tsv", b"a\xff", "1: expected UTF-8 text, received"),
        ("q.csv", b'"a', "expected CSV, received unexpected end of data"),
        ("q.gz", b"no gzip", "expected a whole gzip file"),
    ],
)
def test_files_that_cannot_be_read(tmp_path, name, data, message):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(DataError, match=f"{name}: ?{message}"):
        read_lines(tmp_path / name)
    with pytest.raises(DataError, match="Cannot read"):
        read_lines(tmp_path / "missing.tsv")


def test_all_bad_lines_are_told_together():
    lines = numbered("a|likes", "a|likes|?", "a||?", "x|likes|?", "a|likes|b")
    with pytest.raises(DataError) as error:
        make_questions(lines, maker(small_graph()))
    first, *rest = str(error.value).split("\n  ")
    assert first == "4 lines cannot be asked."
    starts = [
        "q.tsv:1: expected three fields (head, relation, tail), received 2: ['a', 'likes'].",
        "q.tsv:3: expected three fields (head, relation, tail), received 3: ['a', '', '?'].",
        "q.tsv:4: Unknown entity 'x'.",
        "q.tsv:5: expected '?' in the place of either head or tail, received 'a' and 'b'.",
    ]
    assert [line[: len(start)] for line, start in zip(rest, starts, strict=True)] == starts
