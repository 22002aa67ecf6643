"""Negatives, fit and quality of a run's calibration."""

import types

import numpy as np
import pytest
import tensorflow as tf

from quatre_tf import Graph, Run
from quatre_tf.classification import examples
from quatre_tf.errors import DataError
from saved_models.calibrating import (
    calibrate,
    calibration_of,
    cross_validate,
    fit_calibration,
    labelled_scores,
)


class Naming:
    """A model whose score names its triple: head, relation and tail are digits."""

    score_function = types.SimpleNamespace(entity_width=1, relation_tables=dict, width_of=len)

    def score_triples(self, heads, relations, tails):
        return tf.constant(100.0 * heads + 10.0 * relations + tails, tf.float32)


def decode(scores):
    numbers = scores.astype(int)
    return np.stack([numbers // 100, numbers // 10 % 10, numbers % 10], axis=-1)


@pytest.mark.parametrize("split", ["valid", "test"])
def test_negatives_are_unknown_triples_of_either_side(graph, split):
    triples = decode(labelled_scores(Naming(), graph, split))
    np.testing.assert_array_equal(triples[:, 0], graph.split(split))
    positives, negatives = triples[:, :1], triples[:, 1:]
    assert negatives.shape == (len(graph.split(split)), 10, 3)
    known = set(map(tuple, graph.known.tolist()))
    assert known.isdisjoint(map(tuple, negatives.reshape(-1, 3).tolist()))
    changed = negatives != positives
    assert not changed[..., 1].any()
    assert (changed.sum(axis=-1) == 1).all()
    # 160 coins; four standard deviations.
    assert abs(changed[..., 0].mean() - 0.5) < 0.16


def test_every_unknown_entity_is_drawn_alike(graph):
    """Tails of head 0: 0 and 4 are known by train, 5 by valid, 1 by test; the others are not."""
    train, valid, test = (
        np.array(of, np.int32) for of in ([[0, 0, 0], [0, 0, 4]], [[0, 0, 5]] * 200, [[0, 0, 1]])
    )
    many = Graph("many", graph.entities, graph.relations, train, valid, test)
    negatives = decode(labelled_scores(Naming(), many, "valid"))[:, 1:].reshape(-1, 3)
    counts = np.bincount(negatives[negatives[:, 0] == 0, 2], minlength=8)
    # The other coin side replaces head 0 by one of the entities 1 to 7.
    assert counts[[0, 1, 4, 5]].tolist() == [0] * 4
    np.testing.assert_allclose(counts[[2, 3, 6, 7]], 250, atol=70)
    heads = np.bincount(negatives[negatives[:, 2] == 5, 0], minlength=8)
    assert heads[0] == 0
    np.testing.assert_allclose(heads[1:], 1000 / 7, atol=55)


def test_scores_are_the_same_however_they_are_batched(model, graph, monkeypatch):
    whole = labelled_scores(model, graph, "valid")
    np.testing.assert_array_equal(labelled_scores(model, graph, "valid"), whole)
    width = model.score_function.entity_width
    monkeypatch.setattr(examples, "_FLOATS_AT_ONCE", 7 * width)
    np.testing.assert_allclose(labelled_scores(model, graph, "valid"), whole, atol=1e-5)


def test_fit_counts_the_positives_of_each_relation(model, graph):
    fitted = fit_calibration(model, graph)
    assert fitted.positives.tolist() == [8, 8, 0]
    np.testing.assert_array_equal(fitted.curves.relations[2], fitted.curves.overall)
    assert (fitted.curves.relations[:, 0] >= 0).all()
    assert fitted.num_negatives == 10
    assert set(fitted.cross_validation["calibrated"]) == {"brier", "log_loss", "ece"}


def test_cross_validation_judges_triples_that_were_not_fitted():
    """Scores far from 0, as of a softmax: the logistic function is sure of everything."""
    rng = np.random.default_rng(0)
    scores = 40 + 5 * np.concatenate([rng.normal(2, 1, (400, 1)), rng.normal(0, 1, (400, 10))], 1)
    relations = rng.integers(0, 5, 400)
    found = cross_validate(scores, relations, num_relations=5)
    assert found["folds"] == 5
    # Every answer is "true": right half the time.
    assert found["logistic"]["brier"] == pytest.approx(0.5, abs=1e-6)
    # Normal densities two deviations apart; the best possible expectation, by a sum over a grid.
    z = np.linspace(-8, 10, 2001)
    one, two = (np.exp(-((z - mean) ** 2) / 2) / np.sqrt(2 * np.pi) for mean in (2, 0))
    best = (one * two / (one + two)).sum() * (z[1] - z[0]) / 2
    assert found["calibrated"]["brier"] == pytest.approx(best, abs=0.02)
    assert found["calibrated"]["ece"] < 0.03


def test_cross_validation_of_noise_is_no_better_than_one_half():
    """Each relation has four triples: fitted to those, curves would look better than they are."""
    scores = np.random.default_rng(0).normal(size=(200, 11))
    found = cross_validate(scores, np.arange(200) % 50, num_relations=50)
    assert found["calibrated"]["brier"] > 0.25
    assert found["calibrated"]["brier"] < 0.27


def ask(calibration):
    scores = tf.constant([-2.0, 0.0, 3.0])
    return calibration.probabilities(scores, tf.constant([0, 1, 2], tf.int64)).numpy()


def test_export_takes_the_calibration_of_the_run_or_fits_the_same(model, graph, tmp_path):
    trained = Run(model, graph, tmp_path)
    trained.save()
    fresh = calibration_of(trained)
    assert not (trained.run_dir / "calibration.json").exists()
    written = calibrate(trained)
    assert (trained.run_dir / "calibration.json").exists()
    np.testing.assert_array_equal(ask(fresh), ask(written))
    np.testing.assert_array_equal(ask(calibration_of(trained)), ask(written))


def test_scores_that_are_not_finite(graph):
    class Broken(Naming):
        def score_triples(self, heads, relations, tails):
            return super().score_triples(heads, relations, tails) * np.nan

    with pytest.raises(DataError, match="finite scores"):
        labelled_scores(Broken(), graph, "valid")


@pytest.mark.parametrize(("rows", "folds"), [(1, 0), (2, 2), (3, 3)])
def test_few_triples_make_few_folds(rows, folds):
    scores = np.random.default_rng(0).normal(size=(rows, 11))
    found = cross_validate(scores, np.zeros(rows, int), num_relations=1)
    assert found["folds"] == folds
    assert ("calibrated" in found) == (folds > 0)


def test_nothing_to_fit_is_a_note(model, graph, tmp_path, capsys):
    names = graph.entities, graph.relations
    # Where relation 1 holds between all entities, none of its triples can be corrupted.
    grid = np.array([(h, 1, t) for h in range(8) for t in range(8)], np.int32)
    graphs = {
        "No calibrated probabilities: The valid split of bare has no triples.\n": Graph(
            "bare", *names, graph.train, graph.valid[:0], graph.test
        ),
        "cannot be corrupted": Graph("full", *names, grid[:60], grid[60:62], grid[62:]),
    }
    for message, bare in graphs.items():
        trained = Run(model, bare, tmp_path)
        assert calibrate(trained) is None
        assert calibration_of(trained) is None
        assert not (tmp_path / "calibration.json").exists()
        assert capsys.readouterr().err.count(message) == 2
