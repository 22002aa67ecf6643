import numpy as np
import pytest

from quatre_tf.data.candidate_sets import constraint, unseen_answers
from tests.quatre_tf.ranking.small_graph import small_graph


@pytest.mark.parametrize(("side", "column"), [("head", 0), ("tail", 2)])
@pytest.mark.parametrize("candidates", ["type_constrained", "train_type_constrained"])
def test_members(candidates, side, column):
    graph = small_graph()
    triples = graph.known if candidates == "type_constrained" else graph.train
    seen = {(triple[1], triple[column]) for triple in triples.tolist()}
    members = constraint(graph, candidates, side)
    relations, entities = (grid.reshape(-1) for grid in np.mgrid[0:3, 0:6])
    expected = [(r, e) in seen for r, e in zip(relations, entities, strict=True)]
    assert (members.groups(relations, entities) >= 0).tolist() == expected
    sizes = [sum(r == relation for r, _ in seen) for relation in range(3)]
    assert members.groups_per_relation(3).tolist() == sizes


@pytest.mark.parametrize(
    ("split", "candidates", "side", "expected"),
    [
        # f likes c, and c rules a: nobody else has f or c there.
        ("test", "type_constrained", "head", 2),
        ("test", "train_type_constrained", "head", 2),
        ("test", "train_type_constrained", "tail", 0),
        ("test", "all", "head", 0),
        ("valid", "type_constrained", "head", 0),
        # c likes a, d likes e: no other split has a or e there.
        ("train", "type_constrained", "tail", 2),
        ("train", "train_type_constrained", "tail", 0),
    ],
)
def test_unseen_answers(split, candidates, side, expected):
    assert unseen_answers(small_graph(), split, candidates, side) == expected
