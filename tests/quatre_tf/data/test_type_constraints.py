import numpy as np
import pytest

from quatre_tf.data.candidate_sets import slot_entities, unseen_answers
from tests.quatre_tf.ranking.small_graph import small_graph


def test_contains_and_counts(rng):
    triples = rng.integers(0, [9, 4, 9], [30, 3])
    seen = {(r, t) for _, r, t in triples.tolist()}
    slots = slot_entities(triples, "tail", 9)
    relations, entities = (grid.reshape(-1) for grid in np.mgrid[0:5, 0:9])
    expected = [(r, e) in seen for r, e in zip(relations, entities, strict=True)]
    assert slots.contains(relations, entities).tolist() == expected
    sizes = [sum(r == relation for r, _ in seen) for relation in range(5)]
    assert slots.counts(np.arange(5)).tolist() == sizes


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
