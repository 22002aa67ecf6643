"""What a run survives (docs/survival.md): each misfortune happens, in a process of its own."""

import dataclasses
import os
import signal

import pytest

from tests.trainers.training.misfortunes import SMALLEST_FILE
from tests.trainers.training.processes import wait, wait_for
from tests.trainers.training.survival import (
    assert_same_run,
    files,
    flags,
    last_step,
    resumed,
    validations,
)

FULL = [
    # misfortune, details, what the error says
    ("full_in", ("trainers.training.checkpoints", "Checkpoints.save"), "checkpoint"),
    ("full_in", ("trainers.training.checkpoints", "Checkpoints.save", 2), "checkpoint"),
    ("full_in", ("trainers.training.controller", "save_best"), "best"),
    ("full_within_a_line", (700,), "run"),
    ("full_in", ("saved_models.versions", "write_warm_up"), "export"),
    ("full_in", ("trainers.training.fitting", "write_text", 1, 500), "run"),
]
SAYS = {
    "checkpoint": "error: Cannot write the checkpoint {run}/checkpoints/ckpt-",
    "best": "error: Cannot write the best model {run}/best/model.keras: File too large. It takes ",
    "export": "error: Cannot write a model to {run}/saved_model: ",
    "run": "error: Cannot write to {run}: File too large. ",
}


def test_full_disk_everywhere(run, config, tmp_path):
    """One run whose disk is full six times, and has room again each time it is resumed."""
    config, run_dir = dataclasses.replace(config, embedding_dim=32), tmp_path / "run"
    arguments = flags(config, run_dir)
    for misfortune, details, where in FULL:
        last = last_step(run_dir)
        code, text = run(arguments, misfortune, *details)
        assert code == 1, f"{misfortune} {details}: {text}"
        assert SAYS[where].format(run=run_dir) in text
        assert "MB are free" in text
        assert "Traceback" not in text
        assert last_step(run_dir) >= last
        assert not list((run_dir / "checkpoints").glob("partial*"))
        assert not (run_dir / "best" / "partial.keras").exists()
        assert not (run_dir / "test_metrics.json").exists()
        arguments = resumed(run_dir)
    assert run(arguments)[0] == 0
    assert run(flags(config, tmp_path / "whole"))[0] == 0
    assert_same_run(run_dir, tmp_path / "whole")


def test_sigterm_saves_and_exits_with_0(run, config, tmp_path):
    """In a step and in a validation, with more signals while the checkpoint is written."""
    run_dir = tmp_path / "run"
    code, text = run(flags(config, run_dir), "signalled_in", "train")
    assert code == 0, text
    hint = f"To go on: quatre fit --run_dir={run_dir} --resume\n"
    assert f"Stopped by SIGTERM. {hint}" in text
    code, text = run(resumed(run_dir), "signalled_in", "rank")
    assert code == 0, text
    # Before the validation that is outstanding, and will be made up for.
    assert files(run_dir / "checkpoints") == sorted(
        ["checkpoint", *(f"ckpt-{step}{kind}" for step in (1, 10) for kind in KINDS)]
    )
    assert validations(run_dir) == []
    code, text = run(resumed(run_dir), "signalled_in", "rank", signal.SIGINT)
    assert code == 130, text
    assert f"Interrupted. {hint}" in text
    assert run(resumed(run_dir))[0] == 0
    assert run(flags(config, tmp_path / "whole"))[0] == 0
    assert_same_run(run_dir, tmp_path / "whole")


KINDS = (".data-00000-of-00001", ".index")


def test_a_run_has_one_process_and_its_lock_dies_with_it(start, run, config, tmp_path):
    endless, run_dir = dataclasses.replace(config, epochs=10**6, patience=0), tmp_path / "run"
    first = start(flags(endless, run_dir))
    wait_for((run_dir / "metrics.jsonl").exists, [first])
    code, text = run(resumed(run_dir))
    assert code == 1
    assert f"error: Another process is training in {run_dir}." in text
    os.kill(first.pid, signal.SIGKILL)
    assert wait(first)[0] == -signal.SIGKILL
    code, text = run(resumed(run_dir, "--epochs=1"))
    assert code == 0, text


@pytest.mark.parametrize(
    ("misfortune", "details", "says"),
    [
        ("without_privileges", (), "error: Cannot write to {run}: Permission denied."),
        ("limit_files", (SMALLEST_FILE,), "error: Cannot write to {run}: File too large."),
    ],
    ids=["read-only", "full"],
)
def test_folder_that_takes_nothing(run, config, tmp_path, misfortune, details, says):
    run_dir = tmp_path / "run"
    run_dir.mkdir(mode=0o500)
    if misfortune == "limit_files":
        run_dir.chmod(0o700)
    code, text = run(flags(config, run_dir), misfortune, *details)
    assert code == 1, text
    assert says.format(run=run_dir) in text
    assert "free on that disk. Make room, " in text
    assert "Traceback" not in text
    assert not (run_dir / "config.json").exists()


def test_folder_that_is_a_file(run, config, tmp_path):
    run_dir = tmp_path / "run"
    run_dir.write_text("mine")
    code, text = run(flags(config, run_dir))
    assert code == 1
    assert f"error: {run_dir} is a file. Expected the folder of a run as --run_dir." in text
    assert run_dir.read_text() == "mine"
