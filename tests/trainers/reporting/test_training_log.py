"""Reading metrics.jsonl, also after a crash."""

import json

import pytest

from quatre_tf.errors import DataError
from tests.trainers.reporting.log_lines import train_line, valid_line, write_lines
from trainers.reporting.training_log import TRAIN, VALID, best_record, read_records, series
from trainers.training.run_directory import RunDirectory


def test_resumed_run_counts_lost_work_once(tmp_path):
    """Killed at step 30, resumed from a checkpoint of step 10, with other calls than before."""
    path = tmp_path / "metrics.jsonl"
    write_lines(path, [train_line(10, 0.4), train_line(20, 9.0), valid_line(20, 0.9)])
    with path.open("a") as file:
        file.write('{"group": "tr')
    run = RunDirectory(tmp_path)
    assert len(read_records(path)) == 3
    run.rewind_metrics(10)
    for line in (train_line(15, 0.3), valid_line(15, 0.7), train_line(20, 0.2)):
        run.append_metrics(line)
    found = read_records(path)
    epochs, losses = series(found, TRAIN, "loss")
    assert epochs.tolist() == [2, 3, 4]
    assert losses.tolist() == [0.4, 0.3, 0.2]
    assert series(found, VALID, "hits@10").tolist() == [[3], [0.7]]
    assert best_record(found, "hits@10")["step"] == 15


@pytest.mark.parametrize(("best_by", "step"), [("hits@10", 5), ("mrr", 10)])
def test_best_is_the_validation_whose_weights_were_kept(best_by, step):
    found = [{**valid_line(5, 0.7), "mrr": 0.2}, {**valid_line(10, 0.6), "mrr": 0.3}]
    best = best_record([train_line(5), *found, found[1] | {"step": 15}], best_by)
    assert best["step"] == step
    assert best_record([train_line(5)], best_by) is None


def test_a_line_that_is_no_record_is_named(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text(json.dumps(train_line(5)) + "\nnonsense\n")
    with pytest.raises(DataError, match=r"metrics\.jsonl:2: expected a record"):
        read_records(path)
