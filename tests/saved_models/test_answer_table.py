import numpy as np
import pytest
import tensorflow as tf

from quatre_tf.data.candidate_sets import SlotEntities
from quatre_tf.data.known_triples import KnownTriples
from saved_models.tables import AnswerTable

# With 10 entities: known are (relation 0, entity 3) -> 1, 7 and (relation 2, entity 0) -> 4.
KNOWN = KnownTriples(10, np.array([3, 20]), np.array([0, 2, 3]), np.array([1, 7, 14]))
# Relation 0 has 1, 2 and 9 in the slot, relation 1 nothing, relation 2 has 0.
SLOT = SlotEntities(np.array([1, 2, 9, 20]), 10)
INF = -np.inf


@pytest.fixture(scope="module")
def answers():
    return AnswerTable(KNOWN, SLOT, "tails")


def ids(*values):
    return tf.constant(values, tf.int64)


def test_known_lists(answers):
    found = answers.known_lists(ids(2, 0, 0, 9), ids(0, 3, 4, 9))
    assert found.numpy().tolist() == [1, 0, -1, -1]
    assert answers.known_lists(ids(2, 0), ids(0, 3), wanted=False).numpy().tolist() == [-1, -1]


@pytest.mark.parametrize(
    ("filtered", "type_constrained", "left"),
    [
        (False, False, [{*range(10)}, {*range(10)}, {*range(10)}, {*range(10)}]),
        (True, False, [{0, 2, 3, 4, 5, 6, 8, 9}, {*range(10)}, {*range(10)} - {4}, {*range(10)}]),
        (False, True, [{1, 2, 9}, set(), {0}, {1, 2, 9}]),
        (True, True, [{2, 9}, set(), {0}, {1, 2, 9}]),
    ],
)
@pytest.mark.parametrize("tile", [1, 4, 10, 99])
def test_mask_scores(answers, filtered, type_constrained, left, tile):
    """Relations 0, 1, 2, 0 with entities 3, 3, 0, 5, in tiles."""
    options = tf.constant(filtered), tf.constant(type_constrained)
    mask = answers.mask_scores(ids(0, 1, 2, 0), ids(3, 3, 0, 5), *options)
    scores = np.arange(40, dtype=np.float32).reshape(4, 10)
    tiles = [
        mask(
            tf.constant(scores[:, start : start + tile].T),
            tuple(tf.constant([start, min(start + tile, 10), 10], tf.int64)),
        )
        for start in range(0, 10, tile)
    ]
    expected = [
        [s if e in row else INF for e, s in enumerate(line)]
        for row, line in zip(left, scores, strict=True)
    ]
    np.testing.assert_array_equal(np.concatenate(tiles).T, expected)
