"""What --resume needs is checked first: nothing is trained for hours and lost at the end."""

import dataclasses
import json
import os
import shutil

import pytest

from quatre_tf.errors import ConfigError, DataError
from tests import commands
from tests.trainers.training.survival import flip
from tests.trainers.training.wiring import eagerly
from trainers.training.fitting import train
from trainers.training.resuming import check_resumable
from trainers.training.run_directory import RunDirectory


@pytest.fixture(scope="module")
def trained(config, tmp_path_factory):
    """A run of two epochs with two validations, and its settings; not to be changed."""
    config = dataclasses.replace(config, epochs=2, validate_every=1)
    run_dir = tmp_path_factory.mktemp("trained") / "whole"
    with eagerly():
        train(config, run_dir)
    return config, run_dir


@pytest.fixture
def whole(trained, tmp_path):
    """A copy of it."""
    config, run_dir = trained
    return config, shutil.copytree(run_dir, tmp_path / "whole")


def edit(run_dir, **changes):
    path = run_dir / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def replaced(name, make):
    """Makes something else in the place of a file."""

    def replace(run_dir):
        (run_dir / name).unlink(missing_ok=True)
        make(run_dir / name)

    return replace


def append(name, data):
    def write(run_dir):
        with (run_dir / name).open("ab") as file:
            file.write(data)

    return write


BEST = "best/model.keras: "
DAMAGES = [
    (
        lambda run: edit(run, seed=4),
        "config.json was changed .*: seed is 3 there, received 4. Ch",
    ),
    (lambda run: edit(run, learning_rate=0.2, l2=0.5), "l2 is 0.01 there, received 0.5"),
    (lambda run: shutil.rmtree(run / "best"), f"{BEST}.*No such file"),
    (lambda run: os.truncate(run / "best" / "model.keras", 1000), f"{BEST}File is not a zip"),
    (lambda run: flip(run / "best" / "model.keras"), f"{BEST}.* is damaged. Restore it"),
    (append("metrics.jsonl", b"what\n"), r"metrics.jsonl:\d+: expected a record .*'what'"),
    (append("metrics.jsonl", b'{"step": 1}\n'), r"metrics.jsonl:\d+: expected a record"),
    (append("metrics.jsonl", b"\xff\n"), "Cannot read .*metrics.jsonl"),
    (append("metrics.jsonl", b"[" * 10**5 + b"\n"), r"metrics.jsonl:\d+: expected a record"),
    (lambda run: (run / "metrics.jsonl").unlink(), "metrics.jsonl has no record of the 10 steps"),
    (
        lambda run: os.truncate(run / "metrics.jsonl", 50),
        "metrics.jsonl has no record of the 10 st",
    ),
    (append("test_metrics.json", b'{"split": "te'), "test_metrics.json: expected the results"),
    (append("test_metrics.json", b"[" * 10**5), "test_metrics.json: expected the results"),
    *[
        (replaced(name, os.mkdir), f"{name} is not a file, as a run has it. Move it away.")
        for name in ("metrics.jsonl", "test_metrics.json", ".lock")
    ],
    (
        replaced("test_metrics.json", lambda path: path.symlink_to(path)),
        "test_metrics.json is not a file, as a run has it.",
    ),
    (replaced("config.json", os.mkfifo), "config.json is a pipe, not a regular file"),
    (lambda run: [p.unlink() for p in run.glob("checkpoints/ckpt*")], "There is no checkpoint"),
]


def test_what_is_missing_or_damaged_is_found_at_once(whole, tmp_path):
    config, run_dir = whole
    check_resumable(RunDirectory(run_dir), config)
    for number, (damage, message) in enumerate(DAMAGES):
        copy = shutil.copytree(run_dir, tmp_path / str(number))
        damage(copy)
        run = RunDirectory(copy)
        with pytest.raises(DataError, match=message):
            check_resumable(run, type(config).from_file(run.config_file))


def test_a_run_cannot_end_before_what_it_has_done(whole):
    config, run_dir = whole
    before = (run_dir / "config.json").read_text()
    shorter = dataclasses.replace(config, epochs=1)
    with pytest.raises(ConfigError, match=r"--epochs must be at least 2, .* Received: 1."):
        train(shorter, run_dir, resume=True)
    assert (run_dir / "config.json").read_text() == before
    budget = dataclasses.replace(config, budget_minutes=1e-9)
    with pytest.raises(ConfigError, match=r"--budget_minutes must be at least .* Received: 1e-09"):
        train(budget, run_dir, resume=True)


def test_parts_of_another_run_are_not_written_to(whole):
    config, run_dir = whole
    (run_dir / "config.json").unlink()
    with pytest.raises(ConfigError, match=r"holds metrics.jsonl of a run whose config.json is"):
        train(config, run_dir)


def test_it_needs_no_tensorflow(whole):
    _, run_dir = whole
    edit(run_dir, seed=4)
    flags = [f"--run_dir={run_dir}", "--resume"]
    code, _, err = commands.launch_without("tensorflow keras", "trainers.fit", *flags)
    assert code == 1
    assert err.startswith("error: config.json was changed since ")
