import json

import pytest

from benchmarks.cluster_runs import SETUPS, mean_loss, train_records


def test_mean_loss_weighs_calls_by_their_steps():
    """One step of 4, then three of 2: ten in four steps."""
    assert mean_loss([{"step": 1, "loss": 4.0}, {"step": 4, "loss": 2.0}]) == pytest.approx(2.5)


def test_a_line_that_is_being_written_is_left_for_later(tmp_path):
    path = tmp_path / "metrics.jsonl"
    assert train_records(path) == []
    lines = [{"group": "train", "step": 1}, {"group": "valid/all", "step": 1}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"group": "tra')
    assert train_records(path) == [{"group": "train", "step": 1}]


def test_names_of_setups_differ():
    assert len({setup.name for setup in SETUPS}) == len(SETUPS)
