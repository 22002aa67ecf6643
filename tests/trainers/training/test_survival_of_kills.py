"""A run that is killed anywhere and resumed equals one that was not (docs/interruptions.md)."""

import dataclasses
import signal

import pytest

from tests.trainers.training import misfortunes
from tests.trainers.training.survival import (
    assert_same_run,
    assert_same_training,
    files,
    flags,
    last_step,
    resumed,
)
from tests.trainers.training.wiring import eagerly
from trainers.training.fitting import fit, train


def test_killed_everywhere_it_equals_the_uninterrupted_run(config, tmp_path, monkeypatch, capsys):
    config = dataclasses.replace(config, steps_per_epoch=2, epochs=4)
    whole = tmp_path / "whole"
    misfortunes.export_little(monkeypatch)
    with eagerly():
        with pytest.MonkeyPatch.context() as patch:
            misfortunes.Kills(whole, tmp_path, patch)
            fit(config, whole)
        for point, last in misfortunes.KILLS.items():
            run_dir = tmp_path / point
            assert last_step(run_dir) == last, point
            assert not (run_dir / "test_metrics.json").exists()
            assert (run_dir / "config.json").exists() == (last > -1)
            # The test split is ranked and exported from what is the same by then.
            goes_on, same = (fit, assert_same_run) if last == 8 else (train, assert_same_training)
            goes_on(config, run_dir, resume=last > -1)
            same(run_dir, whole)
            assert not list((run_dir / "checkpoints").glob("partial*"))
        # The last came after the export, which is done again.
        assert files(tmp_path / "renaming test_metrics.json" / "saved_model") == ["1", "2"]
        capsys.readouterr()
        fit(config, whole, resume=True)
    text = capsys.readouterr().out
    assert "The run is complete: nothing to do." in text
    assert "Filtered ranking, test split: 8 triples" in text
    assert files(whole / "saved_model") == ["1"]


def test_a_process_that_is_killed(run, config, finished, tmp_path):
    """In the compiled loop."""
    # Nothing that runs on a CPU has to be asked to be deterministic; it is the same if it is.
    config, run_dir = dataclasses.replace(config, deterministic=True), tmp_path / "run"
    assert run(flags(config, run_dir), "killed_in_step", 15)[0] == -signal.SIGKILL
    code, text = run(resumed(run_dir))
    assert code == 0, text
    assert_same_run(run_dir, finished)
