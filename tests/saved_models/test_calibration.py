import json
import math

import numpy as np
import pytest
import tensorflow as tf

from quatre_tf import Vocabulary
from quatre_tf.calibration import Curves
from quatre_tf.errors import DataError
from saved_models.calibration import Fitted, load_calibration, save_calibration

NAMES = Vocabulary(["borders", "is a", "%25 größer"], "relation")
RELATIONS = np.array([[1.0, 0.0], [0.0, math.log(3)], [2.0, -1.0]])
SCORES, IDS = [math.log(4), 7.0, 0.5, -1e4, 1e4], [0, 1, 2, 0, 2]
# Logistic of ln 4, of ln 3 whatever the score, and of 0.
EXPECTED = [0.8, 0.75, 0.5, 0, 1]


@pytest.fixture
def run_dir(tmp_path):
    """A run with a calibration of its weights."""
    (tmp_path / "best").mkdir()
    (tmp_path / "best" / "model.keras").write_bytes(b"weights")
    quality = {"brier": 0.1, "log_loss": 0.3, "ece": 0.02}
    validated = {"folds": 5, "logistic": quality, "calibrated": quality}
    curves = Curves(np.array([1.5, 0.25]), RELATIONS)
    save_calibration(Fitted(curves, np.array([3, 0, 9]), 10, 1, validated), tmp_path, NAMES)
    return tmp_path


def ask(calibration, relations):
    scores = tf.constant(SCORES, tf.float32)
    return calibration.probabilities(scores, tf.constant(relations, tf.int64))


def test_a_run_gives_back_its_calibration(run_dir):
    """Relations are found by name, in whatever order the graph has them."""
    found = ask(load_calibration(run_dir, NAMES), IDS)
    assert found.dtype == tf.float32
    np.testing.assert_allclose(found, EXPECTED, rtol=1e-6)
    turned = Vocabulary(NAMES.names.tolist()[::-1], "relation")
    found = ask(load_calibration(run_dir, turned), [2 - index for index in IDS])
    np.testing.assert_allclose(found, EXPECTED, rtol=1e-6)
    facts = json.loads((run_dir / "calibration.json").read_text(encoding="utf-8"))
    assert facts["positives"] == 12
    assert facts["relations"]["%25 größer"] == {"positives": 9, "slope": 2, "intercept": -1}
    assert facts["overall"] == {"slope": 1.5, "intercept": 0.25}


def test_a_run_without_a_calibration_of_its_weights(run_dir, tmp_path_factory):
    assert load_calibration(tmp_path_factory.mktemp("run"), NAMES) is None
    (run_dir / "best" / "model.keras").write_bytes(b"better weights")
    assert load_calibration(run_dir, NAMES) is None


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda facts: facts.update(version=2), "expected version 1, received 2"),
        (lambda facts: facts.pop("overall"), "overall"),
        (lambda facts: facts.update(overall=None), "TypeError"),
        (lambda facts: facts.update(relations=[]), "AttributeError"),
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


@pytest.mark.parametrize("content", [b"", b"\xff", b"[" * 100_000], ids=range(3))
def test_file_that_is_no_json(run_dir, content):
    (run_dir / "calibration.json").write_bytes(content)
    with pytest.raises(DataError, match=r"Cannot read the calibration .*calibration\.json"):
        load_calibration(run_dir, NAMES)
