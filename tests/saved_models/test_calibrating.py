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
    fit_curves,
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


def test_a_relation_without_positives_has_the_common_curve(model, graph, tmp_path):
    curves = calibration_of(Run(model, graph, tmp_path))
    # A relation that the split does not know has the common curve, too.
    wider = fit_curves(labelled_scores(model, graph, "valid"), graph.valid[:, 1], 4)
    np.testing.assert_array_equal(curves[2], wider[3])
    assert (curves[:, 0] >= 0).all()


def test_export_takes_the_calibration_of_the_run_or_fits_the_same(model, graph, tmp_path):
    trained = Run(model, graph, tmp_path)
    trained.save()
    path = tmp_path / "best" / "calibration.npy"
    fresh = calibration_of(trained)
    assert not path.exists()
    calibrate(trained)
    assert path.exists()
    stored = calibration_of(trained)
    np.testing.assert_array_equal(fresh, stored)
    # It belongs to the weights.
    trained.save()
    assert not path.exists()


@pytest.mark.parametrize(
    "damage",
    [b"", b"[]", b"PK\x03\x04garbage", np.ones([2, 2]), np.full([3, 2], np.nan)],
    ids=["empty", "text", "archive", "another graph", "NaN"],
)
def test_damaged_file(model, graph, tmp_path, damage):
    trained = Run(model, graph, tmp_path)
    trained.save()
    path = tmp_path / "best" / "calibration.npy"
    if isinstance(damage, bytes):
        path.write_bytes(damage)
    else:
        np.save(path, damage)
    with pytest.raises(DataError, match=r"Cannot read the calibration .*Delete it"):
        calibration_of(trained)


def test_scores_that_are_not_finite(graph):
    class Broken(Naming):
        def score_triples(self, heads, relations, tails):
            return super().score_triples(heads, relations, tails) * np.nan

    with pytest.raises(DataError, match="finite scores"):
        labelled_scores(Broken(), graph, "valid")


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
        assert not (tmp_path / "best" / "calibration.npy").exists()
        assert capsys.readouterr().err.count(message) == 2
