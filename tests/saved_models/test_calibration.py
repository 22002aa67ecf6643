import json
import math

import numpy as np
import pytest
import tensorflow as tf

from quatre_tf import Vocabulary
from quatre_tf.calibration import Curves
from quatre_tf.errors import DataError
from saved_models.calibration import Calibration, Fitted, load_calibration, save_calibration

NAMES = Vocabulary(["borders", "is a", "%25 größer"], "relation")
RELATIONS = np.array([[1.0, 0.0], [0.0, math.log(3)], [2.0, -1.0]])
SCORES, IDS = [math.log(4), 7.0, 0.5, -1e4, 1e4], [0, 1, 2, 0, 2]
# Logistic of ln 4, of ln 3 whatever the score, and of 0.
EXPECTED = [0.8, 0.75, 0.5, 0, 1]


@pytest.fixture
def curves():
    return Curves(np.array([1.5, 0.25]), RELATIONS)


@pytest.fixture
def run_dir(tmp_path, curves):
    """A run with a calibration of its weights."""
    (tmp_path / "best").mkdir()
    (tmp_path / "best" / "model.keras").write_bytes(b"weights")
    quality = {"brier": 0.1, "log_loss": 0.3, "ece": 0.02}
    validated = {"folds": 5, "logistic": quality, "calibrated": quality}
    save_calibration(Fitted(curves, np.array([3, 0, 9]), 10, 1, validated), tmp_path, NAMES)
    return tmp_path


def ask(calibration):
    scores, relations = tf.constant(SCORES, tf.float32), tf.constant(IDS, tf.int64)
    return calibration.probabilities(scores, relations)


def test_probabilities_by_hand(curves):
    found = ask(Calibration(curves))
    assert found.dtype == tf.float32
    np.testing.assert_allclose(found, EXPECTED, rtol=1e-6)


def test_survives_a_saved_model(curves, tmp_path):
    root = tf.Module()
    root.calibration = Calibration(curves)
    spec = [tf.TensorSpec([None], tf.float32), tf.TensorSpec([None], tf.int64)]
    root.probabilities = tf.function(root.calibration.probabilities, spec)
    tf.saved_model.save(root, str(tmp_path / "served"))
    loaded = tf.saved_model.load(str(tmp_path / "served"))
    np.testing.assert_allclose(ask(loaded), EXPECTED, rtol=1e-6)
    assert loaded.probabilities(tf.zeros([0]), tf.zeros([0], tf.int64)).shape == [0]


def test_a_run_gives_back_its_calibration(run_dir):
    np.testing.assert_allclose(ask(load_calibration(run_dir, NAMES)), EXPECTED, rtol=1e-6)
    facts = json.loads((run_dir / "calibration.json").read_text(encoding="utf-8"))
    assert facts["positives"] == 12
    assert facts["relations"]["%25 größer"] == {"positives": 9, "slope": 2, "intercept": -1}
    assert facts["overall"] == {"slope": 1.5, "intercept": 0.25}


def test_relations_are_found_by_name(run_dir):
    turned = Vocabulary(NAMES.names.tolist()[::-1], "relation")
    found = load_calibration(run_dir, turned)
    ids = tf.constant([2 - index for index in IDS], tf.int64)
    np.testing.assert_allclose(found.probabilities(tf.constant(SCORES), ids), EXPECTED, rtol=1e-6)


def test_calibration_of_other_weights_is_none(run_dir):
    (run_dir / "best" / "model.keras").write_bytes(b"better weights")
    assert load_calibration(run_dir, NAMES) is None


def test_run_without_calibration(tmp_path):
    assert load_calibration(tmp_path, NAMES) is None


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda facts: facts.update(version=2), "expected version 1, received 2"),
        (lambda facts: facts.pop("overall"), "overall"),
        (lambda facts: facts["relations"].pop("is a"), "names of its relations"),
        (lambda facts: facts["relations"]["is a"].update(slope=-0.5), "no negative slope"),
        (lambda facts: facts["relations"]["is a"].update(slope=math.nan), "finite"),
        (lambda facts: facts["relations"]["is a"].update(slope=10**400), "OverflowError"),
    ],
)
def test_damaged_file(run_dir, change, complaint):
    path = run_dir / "calibration.json"
    facts = json.loads(path.read_text(encoding="utf-8"))
    change(facts)
    path.write_text(json.dumps(facts), encoding="utf-8")
    with pytest.raises(DataError, match=complaint) as raised:
        load_calibration(run_dir, NAMES)
    assert "calibration.json" in str(raised.value)
    assert "Delete it" in str(raised.value)
