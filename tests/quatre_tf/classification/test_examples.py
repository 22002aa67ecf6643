"""Drawn negatives."""

import numpy as np
import pytest

from quatre_tf import Graph
from quatre_tf.classification.examples import with_negatives
from quatre_tf.errors import DataError


def graph_of(train, valid):
    splits = {"train": train, "valid": valid, "test": train[:1]}
    columns = {name: tuple(zip(*rows, strict=True)) for name, rows in splits.items()}
    return Graph.from_names("g", columns)


def test_corrupted_triples_are_unknown():
    """Only c can stand for b in (a, r, b), and only b for a: a, b and c, b are known."""
    train = [("a", "r", "a"), ("c", "r", "b")]
    seen = set()
    for seed in range(20):
        graph = graph_of(train, [("a", "r", "b")])
        true, corrupted = with_negatives(graph, "valid", np.array([0]), 1, seed)[0].tolist()
        assert true == [0, 0, 1]
        seen.add(tuple(corrupted))
    assert seen == {(0, 0, 2), (1, 0, 1)}


def test_a_triple_that_cannot_be_corrupted():
    graph = graph_of([("a", "r", "a"), ("b", "r", "b"), ("b", "r", "a")], [("a", "r", "b")])
    with pytest.raises(DataError, match="cannot be"):
        with_negatives(graph, "valid", np.array([0]), 1, seed=1)
