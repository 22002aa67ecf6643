"""Thresholds of scores, by hand and against trying all of them."""

import numpy as np
import pytest

from quatre_tf.classification.thresholds import best_threshold, fit_thresholds

TINY = np.nextafter(np.float32(1), np.float32(2))


@pytest.mark.parametrize(
    ("scores", "labels", "expected"),
    [
        ([1, 2, 5, 9], [0, 0, 1, 1], 3.5),
        # 1.5 and 3.5 have one error each, and so have 1.5, 3.5 and 5.5.
        ([1, 2, 3, 4], [0, 1, 0, 1], 3.5),
        ([1, 2, 3, 4, 5, 6], [0, 1, 0, 1, 0, 1], 3.5),
        # Beyond the ends, by half the distance of the next score.
        ([5, 1, 2], [1, 1, 1], 0.5),
        ([5, 1, 2], [0, 0, 0], 6.5),
        # Equal scores are never told apart: taking all is right three times.
        ([2, 2, 2, 2], [1, 1, 0, 1], 1.999),
        ([0.5], [0], 0.5005),
        # Between neighbors there is no float.
        ([1, TINY], [0, 1], TINY),
        ([-3e38, 3e38], [0, 1], 0),
    ],
)
def test_best_threshold(scores, labels, expected):
    found = best_threshold(np.array(scores, np.float32), np.array(labels, bool))
    assert found.dtype == np.float32
    assert found == np.float32(expected)


def test_no_other_threshold_is_better():
    rng = np.random.default_rng(0)
    for _ in range(50):
        scores = rng.integers(0, 12, 30).astype(np.float32)
        labels = rng.random(30) < 0.2 + scores / 20
        found = best_threshold(scores, labels)
        tried = [((scores >= cut) == labels).sum() for cut in np.arange(-0.5, 13)]
        assert ((scores >= found) == labels).sum() == max(tried)


def test_a_relation_without_examples_has_the_overall_threshold():
    scores = np.array([0, 10, 4, 5, 5, 6], np.float32)
    labels = np.array([0, 1, 0, 1, 0, 1], bool)
    relations = np.array([0, 0, 2, 2, 2, 2])
    found = fit_thresholds(scores, labels, relations, num_relations=4)
    # Overall, 4.5 and 5.5 have one error each.
    assert found.tolist() == [5, 5.5, 5.5, 5.5]
    only_true = fit_thresholds(scores, labels, np.array([0, 1, 2, 2, 2, 2]), num_relations=3)
    assert only_true.tolist() == [5.5, 5.5, 5.5]
