"""What a run writes as JSON, damaged: refused in one line, or read as JSON reads it."""

import json

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from quatre_tf.data.vocabulary import Vocabulary
from quatre_tf.ranking.results import METRICS, Results, Row
from saved_models.calibration import CALIBRATION, load_calibration
from saved_models.client import _checked_rows, _is_number, _UnexpectedError
from tests.fuzz.fuzzing import attempt, fuzz, mutated
from trainers.reporting.training_log import read_records

DEEP = b"[" * 100_000
RECORDS = b"".join(
    b'{"group": "%s", "step": %d, "epoch": 0.2, "seconds": 1.5, "loss": 0.5}\n' % (group, step)
    for step, group in enumerate([b"train", b"train", b"valid/all"], start=1)
)


@fuzz()
@given(content=mutated(st.just(RECORDS)))
@example(content=RECORDS)
@example(content=b"")
@example(content=DEEP + b"\n")
@example(content=b"\xff\n")
@example(content=b'{"group": [], "step": "x", "epoch": {}, "seconds": null}\n')
@example(content=b'{"group": "train", "step": 1, "epoch": NaN, "seconds": 1}\n')
def test_metrics_of_runs(content, tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(content)
    records, refusal = attempt(read_records, path)
    if refusal:
        assert str(path) in refusal
        assert content != RECORDS
    else:
        assert len(records) == content.count(b"\n")


ROWS = tuple(Row("test", "realistic", "all", "both", 8, name, 0.5) for name in METRICS)
RESULTS = Results("test", 8, "realistic", ROWS).to_json().encode()


@fuzz()
@given(content=mutated(st.just(RESULTS)))
@example(content=RESULTS)
@example(content=DEEP)
def test_results_of_runs(content, tmp_path):
    path = tmp_path / "test_metrics.json"
    path.write_bytes(content)
    results, refusal = attempt(Results.load, path)
    if refusal:
        assert refusal.startswith(f"{path}: expected the results")
        assert content != RESULTS
    else:
        assert len(results.rows) == len(json.loads(content)["rows"])


CURVE = {"slope": 1.0, "intercept": -0.5, "positives": 3}
FITTED = {
    "version": 1,
    "model_sha256": "0" * 64,
    "overall": CURVE,
    "relations": {"r": CURVE, "s": CURVE},
}


@fuzz(0.5)
@given(content=mutated(st.just(json.dumps(FITTED).encode())))
@example(content=DEEP)
def test_calibrations_of_runs(content, tmp_path):
    (tmp_path / "best").mkdir(exist_ok=True)
    (tmp_path / "best" / "model.keras").write_bytes(b"weights")
    (tmp_path / CALIBRATION).write_bytes(content)
    relations = Vocabulary.from_set(["r", "s"], "relation")
    found, refusal = attempt(load_calibration, tmp_path, relations)
    # They are of other weights.
    assert refusal or found is None


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=2), st.just("OK")
)
answers = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["status", "score", "x"]), inner, max_size=3),
    ),
    max_leaves=12,
)


@fuzz()
@given(answer=answers)
@example(answer={"status": ["OK"], "score": [0.5]})
@example(answer={"status": ["OK", "OK"], "score": [0.5, 10**400]})
@example(answer={"status": [["OK"]], "score": [0.5]})
def test_answers_of_servers(answer):
    try:
        rows = _checked_rows(answer, 1, {"score": _is_number}, {})
    except _UnexpectedError:
        return
    (row,) = rows
    assert row["status"] != "OK" or np.isfinite(row["score"])
