import dataclasses
import errno
import hashlib
import json
import os
import pickle
import resource

import numpy as np
import pyarrow as pa
import pytest

from quatre_tf.data.graph import Graph
from quatre_tf.errors import DataError

# Entities sorted: a b c d; relations sorted: r s.
SPLITS = {
    "train": [["b", "a", "b"], ["s", "r", "s"], ["a", "c", "a"]],
    "valid": [["d"], ["r"], ["a"]],
    "test": [["c"], ["s"], ["b"]],
}
TRAIN = [[1, 1, 0], [0, 0, 2], [1, 1, 0]]
NEGATIVES = {"valid": [["d", "a"], ["s", "r"], ["b", "b"]], "test": [["c"], ["r"], ["d"]]}


@pytest.fixture
def graph():
    return Graph.from_names("g", SPLITS, labels={"a": "Anna", "zz": "nobody", "c": "Carl  C"})


def test_names_are_sorted_by_code_point():
    # U+FFFF sorts before U+1F600 by code point, but after it by UTF-16 units.
    names = ["\U0001f600", "b", "\uffff", "Z", "é"]
    graph = Graph.from_names("g", dict.fromkeys(SPLITS, (names, ["r"] * 5, names)))
    assert list(graph.entities.names) == ["Z", "b", "é", "\uffff", "\U0001f600"]


def test_from_names(graph):
    assert list(graph.entities.names) == ["a", "b", "c", "d"]
    assert list(graph.relations.names) == ["r", "s"]
    assert (graph.num_entities, graph.num_relations) == (4, 2)
    assert graph.train.dtype == np.int32
    assert graph.train.tolist() == TRAIN
    assert graph.valid.tolist() == [[3, 0, 0]]
    assert graph.test.tolist() == [[2, 1, 1]]
    assert graph.known.tolist() == [*TRAIN, [3, 0, 0], [2, 1, 1]]
    assert graph.labels == {"a": "Anna", "c": "Carl  C"}


def test_a_disk_that_takes_half_of_an_array(graph, tmp_path):
    """Programs explain errors by their number, which NumPy's own writing of files loses."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    # The header of an array is 128 bytes long.
    resource.setrlimit(resource.RLIMIT_FSIZE, (140, limits[1]))
    try:
        with pytest.raises(OSError, match=os.strerror(errno.EFBIG)) as caught:
            graph.save(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert caught.value.errno == errno.EFBIG


def test_split_by_name(graph):
    assert graph.split("valid") is graph.valid
    with pytest.raises(DataError, match=r"Unknown split 'dev'. Available: train, valid, test."):
        graph.split("dev")


def test_fingerprint_is_the_documented_hash(graph):
    """Neither the name nor the labels matter."""
    ids = {"train": TRAIN, "valid": [[3, 0, 0]], "test": [[2, 1, 1]]}
    text = b"entity 4\na\nb\nc\ndrelation 2\nr\ns"
    for split, triples in ids.items():
        text += f"\n{split} {len(triples)}\n".encode() + np.array(triples, "<i4").tobytes()
    assert graph.fingerprint == hashlib.sha256(text).hexdigest()


def test_missing_or_empty_split():
    with pytest.raises(DataError, match=r"The split test is missing. Required: train, valid, test"):
        Graph.from_names("g", {split: SPLITS[split] for split in ("train", "valid")})
    for split in SPLITS:
        with pytest.raises(DataError, match=f"The split {split} has no triples"):
            Graph.from_names("g", {**SPLITS, split: [[], [], []]})


def test_a_selection_from_a_table_has_its_own_names_only():
    columns = [["a", "b", "c"], ["r", "s", "s"], ["d", "e", "f"]]
    encoded = [pa.chunked_array([pa.array(names).dictionary_encode()]) for names in columns]
    table = pa.table(encoded, names=["head", "relation", "tail"])
    graph = Graph.from_names("g", dict.fromkeys(("train", "valid", "test"), table.slice(1)))
    assert graph.entities.names.tolist() == ["b", "c", "e", "f"]
    assert graph.relations.names.tolist() == ["s"]
    assert graph.train.tolist() == [[0, 0, 2], [1, 0, 3]]


def test_save_and_load(graph, tmp_path):
    graph.save(tmp_path / "new" / "graph")
    loaded = Graph.load(tmp_path / "new" / "graph")
    facts = json.loads((tmp_path / "new" / "graph" / "graph.json").read_text())

    assert facts == {"name": "g", "fingerprint": graph.fingerprint}
    assert loaded.name == "g"
    assert list(loaded.entities.names) == list(graph.entities.names)
    assert list(loaded.relations.names) == list(graph.relations.names)
    assert loaded.relations.kind == "relation"
    for split in SPLITS:
        np.testing.assert_array_equal(loaded.split(split), graph.split(split))
    assert loaded.fingerprint == graph.fingerprint
    assert loaded.labels == {"a": "Anna", "c": "Carl C"}


def test_labels_of_odd_names_are_loaded(tmp_path):
    names = {split: [["a\tb"], ["r"], ["\ufeffc"]] for split in SPLITS}
    labels = {"a\tb": "A", "\ufeffc": "C"}
    Graph.from_names("g", names, labels=labels).save(tmp_path)
    assert Graph.load(tmp_path).labels == labels


def test_saving_twice_gives_the_same_bytes(graph, tmp_path):
    for folder in ("one", "two"):
        graph.save(tmp_path / folder)
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_a_loaded_graph_is_saved_where_it_came_from(tmp_path):
    """Its triples are mapped from the files that are written."""
    names = [f"e{number}" for number in range(5_000)]
    columns = [names, ["r"] * 5_000, names[::-1]]
    graph = Graph.from_names("g", dict.fromkeys(SPLITS, columns), labels={"e1": "One"})
    graph.save(tmp_path)
    dataclasses.replace(Graph.load(tmp_path), labels={}).save(tmp_path)
    loaded = Graph.load(tmp_path)
    np.testing.assert_array_equal(loaded.train, graph.train)
    assert loaded.labels == {}
    assert not list(tmp_path.glob(".*"))


def test_labelled_negatives(graph, tmp_path):
    labelled = Graph.from_names("g", SPLITS, negatives=NEGATIVES)
    assert labelled.fingerprint == graph.fingerprint
    labelled.save(tmp_path)
    for one in (labelled, Graph.load(tmp_path)):
        assert {split: triples.tolist() for split, triples in one.negatives.items()} == {
            "valid": [[3, 1, 1], [0, 0, 1]],
            "test": [[2, 0, 3]],
        }
        assert {triples.dtype for triples in one.negatives.values()} == {np.dtype(np.int32)}
    dataclasses.replace(labelled, negatives={"test": labelled.negatives["test"]}).save(tmp_path)
    assert list(Graph.load(tmp_path).negatives) == ["test"]


@pytest.mark.parametrize(
    ("negatives", "message"),
    [
        ({"test": [["a", "x"], ["r", "s"], ["b", "c"]]}, r"entity 'x'.* negatives of test.*Remove"),
        ({"valid": [["a"], ["t"], ["b"]]}, "relation 't'.* negatives of valid"),
        # Of train, but among the negatives of another split.
        (
            {**NEGATIVES, "test": [["d", "a"], ["s", "r"], ["b", "c"]]},
            r"\('a', 'r', 'c'\) is in train and in the negatives of test\. Remove",
        ),
        ({"train": NEGATIVES["test"]}, r"Expected negatives of valid or test\. Received: 'train'"),
    ],
    ids=["entity", "relation", "known", "split"],
)
def test_negatives_that_cannot_be(negatives, message):
    with pytest.raises(DataError, match=message):
        Graph.from_names("g", SPLITS, negatives=negatives)


def replace_split(triples, dtype=np.int32, name="valid"):
    return lambda folder: np.save(folder / f"{name}.npy", np.array(triples, dtype))


def remove(name):
    return lambda folder: (folder / name).unlink()


def write(name, content):
    return lambda folder: (folder / name).write_bytes(content)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (replace_split([[1, 0, 0]]), "was changed since it was saved"),
        (replace_split([[4, 0, 0]]), r"valid\.npy: expected ids in"),
        (replace_split([[0, -1, 0]]), r"valid\.npy: expected ids in"),
        (replace_split([[3, 0, 0]], np.int64), r"int32 triples .* received int64 \[1, 3\]"),
        (replace_split([["a", "b", "c"]], object), r"Cannot read .*valid\.npy"),
        (replace_split([[0, 2, 0]], name="test_negatives"), r"test_negatives\.npy: expected ids"),
        (write("train.npy", pickle.dumps(np.zeros([1, 3], np.int32))), r"Cannot read .*train\.npy"),
        (write("entities.txt", b"a\nb\nc\ne\n"), "was changed since it was saved"),
        (write("graph.json", b"{}"), r"KeyError\('name'\) in graph\.json"),
        (write("labels.tsv", b"a\n"), r"labels\.tsv:1: expected a name, a TAB and a label"),
        (remove("test.npy"), r"Cannot read .*test\.npy"),
        (remove("relations.txt"), "Cannot read the relation names"),
    ],
)
def test_load_refuses_what_save_did_not_write(graph, tmp_path, change, message):
    graph.save(tmp_path)
    change(tmp_path)
    with pytest.raises(DataError, match=message):
        Graph.load(tmp_path)
