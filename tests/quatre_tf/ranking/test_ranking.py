import platform

import numpy as np
import pytest
import tensorflow as tf

from quatre_tf.ranking import counting as ranking
from quatre_tf.ranking.tiles import top_k
from quatre_tf.similarities import DOT
from tests.quatre_tf.ranking.counting import count

# One query a row, five candidates; the target is written with its score in the comment.
SCORES = [
    [0.9, 0.5, 0.7, 0.5, 0.1],  # target 1 (0.5): 0 and 2 are better, 3 is equal
    [0.5, 0.5, 0.5, 0.5, 0.5],  # target 4 (0.5): all equal
    [0.1, 0.2, 0.3, 0.4, 0.5],  # target 0 (0.1): all better
    [0.1, 0.2, 0.3, 0.4, 0.5],  # target 4 (0.5): the best
]
TARGETS = [1, 4, 0, 4]


def counts_of(scores, targets, known):
    """One-hot queries against the transposed scores have exactly these scores."""
    return count(np.eye(len(scores)), np.float32(scores).T, targets, known, [])[:, 0]


@pytest.mark.parametrize(
    ("known", "better", "equal"),
    [
        # Nothing is known.
        ([[], [], [], []], [2, 0, 4, 0], [1, 4, 0, 0]),
        # The target among the known, and not.
        ([[0, 1], [4, 0, 1], [0, 3], [4]], [1, 0, 3, 0], [1, 2, 0, 0]),
        ([[0], [0, 1], [3], [0]], [1, 0, 3, 0], [1, 2, 0, 0]),
        # An equal one is known; a worse one is known and changes nothing.
        ([[3], [0], [], [0]], [2, 0, 4, 0], [0, 3, 0, 0]),
        # Everything is known.
        ([[0, 1, 2, 3, 4]] * 4, [0, 0, 0, 0], [0, 0, 0, 0]),
        ([[0, 2, 3, 4], [0, 1, 2, 3], [1, 2, 3, 4], [0, 1, 2, 3]], [0] * 4, [0] * 4),
    ],
)
def test_counts(known, better, equal):
    np.testing.assert_array_equal(counts_of(SCORES, TARGETS, known), [better, equal])


@pytest.mark.parametrize(
    ("tie_policy", "expected"),
    [("optimistic", [3, 1, 5, 1]), ("realistic", [3.5, 3, 5, 1]), ("pessimistic", [4, 5, 5, 1])],
)
def test_tie_policies(tie_policy, expected):
    ranks = ranking.ranks_from_counts(*counts_of(SCORES, TARGETS, [[]] * 4), tie_policy)
    np.testing.assert_array_equal(ranks, expected)


def test_ranks_are_exact_for_any_number_of_entities():
    (rank,) = ranking.ranks_from_counts(tf.constant([2**30]), tf.constant([1])).numpy()
    assert rank == 2**30 + 1.5


def test_unknown_tie_policy_is_named():
    with pytest.raises(ValueError, match=r"`tie_policy` must be one of .*realistic.*'random'"):
        ranking.ranks_from_counts([0], [0], "random")


@pytest.mark.parametrize("size", [0, -1, 2.0, 4096])
def test_entity_tiles_are_checked(size):
    with pytest.raises(ValueError, match="`entity_tile` must be a positive integer"):
        count(np.eye(4), np.float32(SCORES).T, TARGETS, [[]] * 4, [], (size, 512))


@pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"),
    reason="the row multiple was measured on x86 CPUs only",
)
@pytest.mark.parametrize(("num_entities", "width"), [(135, 32), (5003, 256)])
def test_best_scores_do_not_depend_on_the_batching(rng, num_entities, width):
    table = tf.constant(rng.normal(size=[num_entities, width]), tf.float32)
    queries = tf.constant(rng.normal(size=[500, width]), tf.float32)
    together = top_k(DOT, table, queries, 10)[0]
    for rows in (slice(7, 24), slice(99, 400)):
        np.testing.assert_array_equal(top_k(DOT, table, queries[rows], 10)[0], together[rows])
