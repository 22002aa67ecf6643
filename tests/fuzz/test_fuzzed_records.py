"""What a run writes as JSON, damaged: refused in one line, or read as JSON reads it."""

import json

from hypothesis import example, given
from hypothesis import strategies as st

from quatre_tf.ranking.results import METRICS, Results, Row
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
