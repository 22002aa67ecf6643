"""What a run survives (docs/interruptions.md): each misfortune happens, in a process of its own."""

import dataclasses
import json
import os
import signal

import pytest

from quatre_tf.errors import ConfigError
from tests.trainers.training import misfortunes
from tests.trainers.training.processes import wait, wait_for
from tests.trainers.training.survival import (
    assert_same_run,
    assert_same_training,
    flags,
    last_step,
    resumed,
    validations,
)
from tests.trainers.training.wiring import eagerly
from trainers.training.fitting import train

FULL = [
    *["Cannot write the checkpoint {run}/checkpoints/ckpt-"] * 2,
    "Cannot write the best model {run}/best/model.keras: File too large. It takes ",
    "Cannot write to {run}: File too large. ",
    "Cannot write a model to {run}/saved_model: ",
    "Cannot write to {run}: File too large. ",
]


def test_full_disk_everywhere(processes, config, tmp_path):
    """One run whose disk is full six times, and has room again each time it is resumed."""
    config = dataclasses.replace(config, embedding_dim=32, steps_per_epoch=2, epochs=4)
    run_dir, whole, report = (tmp_path / name for name in ("run", "whole", "report.json"))
    code, text = wait(
        processes.start(misfortunes.full_disks, config, run_dir, whole, report, environment={})
    )
    assert code == 0, text
    found = json.loads(report.read_text())
    for (kind, message, before, after, left), says in zip(found, FULL, strict=True):
        assert kind == "StorageError"
        assert message.startswith(says.format(run=run_dir))
        assert "MB are free" in message
        assert after >= before
        assert left == []
    assert_same_run(run_dir, whole)


def test_sigterm_saves_and_exits_with_0(run, config, tmp_path):
    """In a step and in a validation, with more signals while the checkpoint is written."""
    config, run_dir = dataclasses.replace(config, steps_per_epoch=2, epochs=4), tmp_path / "run"
    code, text = run(flags(config, run_dir), "signalled_in", "train")
    assert code == 0, text
    hint = f"To go on: quatre fit --run_dir={run_dir} --resume\n"
    assert f"Stopped by SIGTERM. {hint}" in text
    code, text = run(resumed(run_dir), "signalled_in", "rank")
    assert code == 0, text
    # Before the validation that is outstanding, and will be made up for.
    saved = {path.stem for path in (run_dir / "checkpoints").glob("*.index")}
    assert saved == {"ckpt-1", "ckpt-4"}
    assert validations(run_dir) == []
    with eagerly():
        train(config, run_dir, resume=True)
        train(config, tmp_path / "whole")
    assert_same_training(run_dir, tmp_path / "whole")


def test_a_run_has_one_process_whose_lock_dies_with_it(start, config, tmp_path):
    endless, run_dir = dataclasses.replace(config, epochs=10**6, patience=0), tmp_path / "run"
    first = start(flags(endless, run_dir), "uncompiled")
    wait_for((run_dir / "metrics.jsonl").exists, [first])
    with pytest.raises(ConfigError, match="Another process is training in"):
        train(endless, run_dir, resume=True)
    os.kill(first.pid, signal.SIGKILL)
    assert wait(first)[0] == -signal.SIGKILL

    # The next one goes on, until Ctrl-C.
    before = last_step(run_dir)
    second = start(resumed(run_dir), "uncompiled")
    wait_for(lambda: last_step(run_dir) > before, [second])
    os.kill(second.pid, signal.SIGINT)
    code, text = wait(second)
    assert code == 130
    assert text.endswith(f"\nInterrupted. To go on: quatre fit --run_dir={run_dir} --resume\n")
    assert "Traceback" not in text


@pytest.mark.parametrize(
    ("misfortune", "details", "says"),
    [
        ("without_privileges", (), "Permission denied."),
        ("limit_files", (misfortunes.SMALLEST_FILE,), "File too large."),
    ],
)
def test_folder_that_takes_nothing(run, config, tmp_path, misfortune, details, says):
    run_dir = tmp_path / "run"
    run_dir.mkdir(mode=0o500)
    if misfortune == "limit_files":
        run_dir.chmod(0o700)
    code, text = run(flags(config, run_dir), misfortune, *details)
    assert code == 1, text
    assert f"error: Cannot write to {run_dir}: {says}" in text
    assert "free on that disk. Make room, " in text
    assert "Traceback" not in text
    assert not (run_dir / "config.json").exists()
