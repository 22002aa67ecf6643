"""The folder of a run, damaged or of any names: refused, or read as it was."""

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from quatre_tf import Graph, Vocabulary
from tests.fuzz.fuzzing import attempt, fuzz, mutated
from trainers.training.config import TrainConfig


@pytest.fixture(scope="module")
def graph():
    splits = {name: [["a", "b"], ["r", "s"], ["c", "d"]] for name in ("train", "valid", "test")}
    return Graph.from_names("g", splits)


@pytest.fixture(scope="module")
def saved(graph, tmp_path_factory):
    folder = tmp_path_factory.mktemp("graph")
    graph.save(folder)
    return folder


header = b"{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }".ljust(118)
ARRAY = b"\x93NUMPY\x01\x00\x76\x00" + header + np.zeros(6, "<i4").tobytes()
FILES = ["graph.json", "entities.txt", "relations.txt", "train.npy"]
INDEXES = [(side, split) for split in ("train", "known") for side in ("head", "tail")]


@fuzz()
@given(name=st.sampled_from(FILES), data=st.data())
def test_graphs_of_runs(name, data, graph, saved):
    original = (saved / name).read_bytes()
    (saved / name).write_bytes(data.draw(mutated(st.just(original))))
    loaded, refusal = attempt(Graph.load, saved)
    (saved / name).write_bytes(original)
    assert refusal or loaded.fingerprint == graph.fingerprint


@fuzz()
@given(content=mutated(st.just(ARRAY)))
@example(content=b"")
@example(content=ARRAY.replace(b"}  ", b"}\n "))
@example(content=ARRAY.replace(b"(2, 3), }", b"(2, 3)   "))
@example(content=ARRAY.replace(b"(2, 3), }" + b" " * 20, b"(" + b"9" * 26 + b", )}"))
def test_arrays_of_runs(content, saved):
    original = (saved / "train.npy").read_bytes()
    (saved / "train.npy").write_bytes(content)
    _, refusal = attempt(Graph.load, saved)
    (saved / "train.npy").write_bytes(original)
    assert refusal


@fuzz()
@given(place=st.sampled_from(INDEXES), other=st.sampled_from(INDEXES), data=st.data())
def test_indexes_of_runs(place, other, data, graph, saved):
    """A damaged file, or that of another index, is not used."""
    path, donor = (saved / f"{split}_{side}s.npy" for side, split in (place, other))
    original = path.read_bytes()
    path.write_bytes(data.draw(mutated(st.just(donor.read_bytes()))))
    (found, _), expected = attempt(Graph.load(saved).index, *place), graph.index(*place)
    path.write_bytes(original)
    for part in ("keys", "row_splits", "list_keys"):
        np.testing.assert_array_equal(getattr(found, part), getattr(expected, part))


settings_of_a_run = st.dictionaries(
    st.sampled_from([field.name for field in dataclasses.fields(TrainConfig)] + ["", "new"]),
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(10**20), 10**20) | st.integers(0, 9),
        st.floats(),
        st.sampled_from(["paper", "strong", "sampled", "quatre", "linear", "x", 10**400]),
        st.lists(st.integers(), max_size=1),
    ),
    max_size=3,
)


@fuzz()
@given(given_settings=settings_of_a_run, named=st.booleans())
def test_settings_of_runs(given_settings, named, tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(({"dataset": "umls"} if named else {}) | given_settings))
    config, refusal = attempt(TrainConfig.from_file, path)
    if refusal:
        assert refusal.startswith(str(path))
    else:
        assert dataclasses.asdict(config).items() >= given_settings.items()
        assert TrainConfig(**json.loads(config.to_json())) == config


characters = st.sampled_from("aAé\r\n\0 \x85\u2028\ufeff\ud800🜁%") | st.characters()
lists_of_names = st.lists(st.text(characters, max_size=4), max_size=8)


def are_names(names):
    """What a vocabulary may hold."""
    try:
        "".join(names).encode()
    except UnicodeEncodeError:
        return False
    return len(set(names)) == len(names) and all(n and "\n" not in n for n in names)


@fuzz()
@given(names=lists_of_names)
def test_names_go_there_and_back(names, tmp_path):
    if not are_names(names):
        assert attempt(Vocabulary, names)[1]
        return
    path = tmp_path / "names.txt"
    Vocabulary(names).save(path)
    loaded = Vocabulary.load(path)
    assert loaded.names.tolist() == names
    assert loaded.ids(names).tolist() == list(range(len(names)))


@fuzz()
@given(data=mutated(st.lists(st.text("ab\u2028é", min_size=1)).map("\n".join).map(str.encode)))
def test_names_that_nobody_saved(data, tmp_path):
    path = tmp_path / "names.txt"
    path.write_bytes(data)
    try:
        expected = data.decode("utf-8").removesuffix("\n").split("\n") if data else []
    except UnicodeDecodeError:
        expected = [""]
    loaded, refusal = attempt(Vocabulary.load, path)
    assert (refusal is None) == are_names(expected)
    assert refusal or loaded.names.tolist() == expected
