"""Figures of a classification, by hand and by their definitions."""

import numpy as np
import pytest

from quatre_tf.classification import figures
from quatre_tf.classification.figures import LEVELS, curve_figures, threshold_figures


def bools(text):
    return np.array([character == "1" for character in text])


@pytest.mark.parametrize(
    ("labels", "predicted", "expected"),
    [
        # accuracy, F1, precision, recall: 2 of 3 found are true, and 2 of 4 true ones found.
        ("1111000000", "1100100000", (7 / 10, 4 / 7, 2 / 3, 2 / 4)),
        ("1100", "0000", (1 / 2, 0, 0, 0)),
        ("0000", "1000", (3 / 4, 0, 0, 0)),
        ("1111", "1101", (3 / 4, 6 / 7, 1, 3 / 4)),
    ],
)
def test_threshold_figures(labels, predicted, expected):
    found = threshold_figures(bools(labels), bools(predicted))
    assert list(found) == ["accuracy", "f1", "precision", "recall"]
    assert [figure.value for figure in found.values()] == pytest.approx(expected)
    assert all(figure.low <= figure.value <= figure.high for figure in found.values())


def test_intervals_of_shares():
    """Of a share p of n examples, the deviation is sqrt(p (1 - p) / n)."""
    labels = np.repeat([True, False], 1000)
    predicted = np.concatenate([np.arange(1000) < 800, np.arange(1000) < 500])
    found = threshold_figures(labels, predicted)
    assert found["recall"][1:] == pytest.approx([0.7752, 0.8248], abs=0.003)
    # Half of each: (.2 * .8 + .5 * .5) / 4 / 1000 is its variance.
    assert found["accuracy"][1:] == pytest.approx([0.6302, 0.6698], abs=0.003)


def test_areas_by_hand():
    # In descending order: true, false, and then a true and a false one of the same score.
    areas, curves = curve_figures(bools("1010"), np.array([9.0, 8.0, 7.0, 7.0]))
    # Of four pairs the true one is ahead in two, and level in one.
    assert areas["roc_auc"].value == pytest.approx(2.5 / 4)
    # Precision 1 at recall 1/2, and 2/4 at recall 1.
    assert areas["average_precision"].value == pytest.approx(1 / 2 * 1 + 1 / 2 * 2 / 4)
    roc = dict(zip(LEVELS.round(2).tolist(), curves["roc"], strict=True))
    assert [roc[level].value for level in (0, 0.5, 0.74, 1)] == pytest.approx([0.5, 0.5, 0.74, 1])
    recall = dict(zip(LEVELS.round(2).tolist(), curves["precision_recall"], strict=True))
    assert [recall[level].value for level in (0, 0.5, 0.52, 1)] == [1, 1, 0.5, 0.5]


def test_areas_by_definition(monkeypatch):
    rng = np.random.default_rng(1)
    labels = rng.random(200) < 0.3
    scores = np.round(rng.normal(labels, 1.5), 1)
    areas, _ = curve_figures(labels, scores)
    true, false = scores[labels], scores[~labels]
    wins = (true[:, None] > false).mean() + (true[:, None] == false).mean() / 2
    assert areas["roc_auc"].value == pytest.approx(wins)
    precision = [labels[scores >= score].mean() for score in true]
    assert areas["average_precision"].value == pytest.approx(np.mean(precision))
    # Hanley and McNeil (1982): about .038 for these numbers and this area.
    low, high = areas["roc_auc"][1:]
    q1, q2 = wins / (2 - wins), 2 * wins**2 / (1 + wins)
    n1, n2 = len(true), len(false)
    variance = wins * (1 - wins) + (n1 - 1) * (q1 - wins**2) + (n2 - 1) * (q2 - wins**2)
    assert high - low == pytest.approx(2 * 1.96 * np.sqrt(variance / (n1 * n2)), rel=0.15)
    monkeypatch.setattr(figures, "_AT_ONCE", 200 * 7)
    assert curve_figures(labels, scores)[0]["roc_auc"][1:] == pytest.approx((low, high), abs=0.01)
    assert curve_figures(labels, scores, seed=None)[0]["roc_auc"][1:] == (None, None)


def test_scores_that_tell_everything_apart():
    areas, curves = curve_figures(bools("1100"), np.array([4.0, 3.0, 2.0, 1.0]))
    assert set(areas.values()) == {(1, 1, 1)}
    assert {figure.value for curve in curves.values() for figure in curve} == {1}
