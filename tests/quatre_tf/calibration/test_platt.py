import math

import numpy as np
import pytest

from quatre_tf.calibration.platt import fit_curves, probabilities_of


def test_separable_scores_get_platts_targets():
    """Positives at 1 and negatives at -1: the curve goes through 4/5 and 1/5, logit ln 4."""
    for negatives in (1, 4):
        scores = np.full((3, 1 + negatives), -1.0)
        scores[:, 0] = 1
        curves = fit_curves(scores, np.zeros(3, int), num_relations=2)
        # Of the relation without positives, which has the common curve.
        np.testing.assert_allclose(curves[1], [math.log(4), 0], atol=1e-5)


def test_curve_of_a_relation_is_its_posterior_mode():
    """As above, mean 0 and deviation 1: the slope a solves a = ln 9 + 2 n / (1 + e^a)."""
    scores = np.tile([1.0, -1.0], (8, 1))
    relations = np.array([0] * 6 + [2] * 2)
    curves = fit_curves(scores, relations, num_relations=4)
    for relation, count in {0: 6, 2: 2}.items():
        slope = math.log(9)
        for _ in range(200):
            slope += 0.2 * (math.log(9) + 2 * count / (1 + math.exp(slope)) - slope)
        np.testing.assert_allclose(curves[relation], [slope, 0], atol=1e-5)
    # Relations without positives have the common curve.
    np.testing.assert_array_equal(curves[1], curves[3])


def test_curve_is_that_of_the_odds():
    """Densities N(1, 1) and N(-1, 1): the log odds of a score s are 2 s; moved and stretched."""
    rng = np.random.default_rng(0)
    standard = np.concatenate([rng.normal(1, 1, (20_000, 1)), rng.normal(-1, 1, (20_000, 3))], 1)
    relations = rng.integers(0, 2, 20_000)
    for shift, scale in ((0, 1), (-300, 0.01), (5, 1e4)):
        curves = fit_curves(shift + scale * standard, relations, num_relations=3)
        # The last one is the common curve.
        for slope, intercept in curves:
            assert slope * scale == pytest.approx(2, abs=0.1)
            assert intercept + slope * shift == pytest.approx(0, abs=0.1)


def test_order_is_kept_where_negatives_score_higher():
    scores = np.tile([-1.0, 1.0], (50, 1)) + np.random.default_rng(0).normal(size=(50, 2)) / 10
    curves = fit_curves(scores, np.zeros(50, int), num_relations=2)
    np.testing.assert_allclose(curves, 0, atol=1e-9)


def test_a_relation_of_its_own_direction_is_flat_not_turned():
    rng = np.random.default_rng(0)
    scores = np.tile([2.0, -2.0], (200, 1)) + rng.normal(size=(200, 2))
    scores[150:] *= -1
    curves = fit_curves(scores, np.repeat([0, 1], [150, 50]), num_relations=2)
    assert curves[0, 0] > 0
    assert curves[1, 0] == 0
    # Of as many positives as negatives, one half; the common curve's intercept pulls a little.
    probability = probabilities_of(curves, np.array([[7.0]]), np.array([1]))
    assert probability.item() == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("score", [0.0, -4.5])
def test_equal_scores_say_nothing(score):
    curves = fit_curves(np.full((4, 3), score), np.zeros(4, int), num_relations=1)
    found = probabilities_of(curves, np.full((1, 1), score), np.zeros(1, int))
    np.testing.assert_allclose(found, 0.5, atol=1e-9)


def test_probabilities_take_the_curve_of_their_row():
    curves = fit_curves(np.tile([1.0, -1.0], (3, 1)), np.zeros(3, int), num_relations=2)
    # Relation 1 has no rows: logit ln 4 times the score. Far out nothing overflows.
    found = probabilities_of(
        curves, np.array([[1.0, -1.0, 0.0], [1e5, -1e5, 2.0]]), np.array([1, 1])
    )
    np.testing.assert_allclose(found, [[0.8, 0.2, 0.5], [1, 0, 16 / 17]], atol=1e-5)
