"""The indexes of a graph: built once, mapped from its folder, never those of another graph."""

import dataclasses
import mmap

import numpy as np
import pytest

from quatre_tf.data import graph as module
from quatre_tf.data.graph import Graph
from quatre_tf.data.negatives import Corruption
from quatre_tf.data.query_batches import QueryBatches
from quatre_tf.ranking.sides import RankingSide

SPLITS = {
    # a r b, a r c, b s c, and the first again.
    "train": [["a", "a", "b", "a"], ["r", "r", "s", "r"], ["b", "c", "c", "b"]],
    "valid": [["c", "a"], ["r", "r"], ["a", "b"]],
    "test": [["b", "c"], ["s", "r"], ["a", "a"]],
}
SAVED = [(side, split) for split in ("train", "known") for side in ("head", "tail")]


@pytest.fixture
def graph():
    return Graph.from_names("g", SPLITS)


@pytest.fixture
def folder(graph, tmp_path):
    graph.save(tmp_path)
    return tmp_path


@pytest.fixture
def builds(monkeypatch):
    """Every index that is built, as (side, number of triples)."""
    built = []

    def counted(side, index):
        def build(triples, num_entities):
            built.append((side, len(triples)))
            return index(triples, num_entities)

        return build

    for side in ("head", "tail"):
        name = f"index_{side}s"
        monkeypatch.setattr(module, name, counted(side, getattr(module, name)))
    return built


def test_first_splits(graph):
    # Entities a, b, c are 0, 1, 2 and relations r, s are 0, 1. a r b is in train and valid, c r a
    # in valid and test.
    triples = np.array([[0, 0, 1], [2, 0, 0], [1, 1, 0], [1, 0, 0], [0, 0, 2]])
    assert graph.first_splits(triples).tolist() == [0, 1, 2, -1, 0]


def test_each_index_is_built_once_and_not_before_it_is_used(graph, builds):
    assert builds == []
    for _ in range(2):
        QueryBatches(graph, batch_size=1, seed=0)
        Corruption(graph), Corruption(graph, "uniform", "known")
        for side in ("head", "tail"):
            RankingSide.build(graph, side, ("all", "type_constrained", "train_type_constrained"))
    # 4 triples of train, 8 of all splits.
    assert sorted(builds) == [("head", 4), ("head", 8), ("tail", 4), ("tail", 8)]


@pytest.mark.parametrize(("side", "split"), SAVED)
def test_a_saved_graph_maps_its_indexes(folder, builds, side, split):
    index = Graph.load(folder).index(side, split)
    assert builds == []
    for array in (index.keys, index.row_splits, index.list_keys):
        while isinstance(array.base, np.ndarray):
            array = array.base
        assert isinstance(array.base, mmap.mmap)


def test_damaged_indexes_are_built_anew(graph, folder, builds):
    """One is changed, one is moved; tests/fuzz/test_fuzzed_runs.py has other damage."""
    content = bytearray((folder / "known_tails.npy").read_bytes())
    content[128 + 4 * 8] ^= 1  # the number of groups, after the header and the digest
    (folder / "known_tails.npy").write_bytes(content)
    (folder / "train_tails.npy").rename(folder / "known_heads.npy")
    loaded = Graph.load(folder)
    found = {place: loaded.index(*place) for place in SAVED}
    assert sorted(builds) == [("head", 8), ("tail", 4), ("tail", 8)]
    for place, index in found.items():
        for part in ("keys", "row_splits", "list_keys"):
            expected = getattr(graph.index(*place), part)
            np.testing.assert_array_equal(getattr(index, part), expected)


def test_an_index_of_other_triples_is_not_used(folder, builds):
    loaded = Graph.load(folder)
    other = dataclasses.replace(loaded, train=loaded.train[:1])
    assert other.index("tail", "train").list_keys.tolist() == [1]
    assert builds == [("tail", 1)]
