"""Damaged checkpoints, jumping clocks, folders that cannot be written (docs/interruptions.md)."""

import dataclasses
import errno
import json
import os
import time

import numpy as np
import pytest
import tensorflow as tf

from datasets import catalog
from quatre_tf.errors import ConfigError
from saved_models.storage import StorageError
from tests.trainers.training.survival import flip
from tests.trainers.training.wiring import eagerly
from trainers.training.checkpoints import Checkpoints, RunState
from trainers.training.fitting import train
from trainers.training.server_trainer import make_trainer


@pytest.fixture
def trainer(config):
    return make_trainer(config, catalog.load(config.dataset), tf.distribute.get_strategy())


@pytest.fixture
def folder(trainer, tmp_path):
    """Checkpoints of steps 20 and 30, whose entity tables hold nothing but their step."""
    checkpoints = Checkpoints(tmp_path / "checkpoints", trainer, RunState())
    for step in (10, 20, 30):
        fill(trainer, step)
        checkpoints.save()
    fill(trainer, -1)
    return tmp_path / "checkpoints"


@pytest.fixture
def checkpoints(folder, trainer):
    """Those of the folder, the last one restored."""
    found = Checkpoints(folder, trainer, RunState())
    found.restore()
    return found


def fill(trainer, step):
    trainer.step.assign(max(0, step))
    table = trainer.model.entities.embeddings
    table.assign(tf.fill(table.shape, float(step)))


def restored(folder, trainer):
    Checkpoints(folder, trainer, RunState()).restore()
    (value,) = np.unique(trainer.model.entities.embeddings.numpy())
    assert value == trainer.step.numpy()
    return value


ELSEWHERE = 'model_checkpoint_path: "/elsewhere/ckpt-7"'
DAMAGES = {
    "data cut": lambda data, index: os.truncate(data, 100),
    "data flipped": lambda data, index: flip(data),
    "data missing": lambda data, index: data.unlink(),
    "index cut": lambda data, index: os.truncate(index, 50),
    "index flipped": lambda data, index: flip(index),
    "index empty": lambda data, index: index.write_bytes(b""),
}


def damage(folder, name, how):
    DAMAGES[how](folder / f"{name}.data-00000-of-00001", folder / f"{name}.index")


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_checkpoint_gives_way_to_the_one_before(folder, trainer, how, capsys):
    damage(folder, "ckpt-30", how)
    assert restored(folder, trainer) == 20
    assert "Going on from ckpt-20. Cannot read ckpt-30: " in capsys.readouterr().err


def test_a_checkpoint_with_nan_gives_way_to_the_one_before(checkpoints, folder, trainer, capsys):
    fill(trainer, np.nan)
    trainer.step.assign(40)
    checkpoints.save()
    assert restored(folder, trainer) == 30
    assert "Cannot read ckpt-40: it holds NaN or infinite values" in capsys.readouterr().err


def test_a_damaged_checkpoint_goes_with_the_next_save(folder, trainer):
    damage(folder, "ckpt-30", "data cut")
    checkpoints = Checkpoints(folder, trainer, RunState())
    checkpoints.restore()
    fill(trainer, 25)
    assert checkpoints.save() == str(folder / "ckpt-25")
    assert {path.stem for path in folder.glob("*.index")} == {"ckpt-20", "ckpt-25"}
    assert restored(folder, trainer) == 25


def reverse_times(folder):
    for number, path in enumerate(sorted(folder.iterdir(), reverse=True)):
        os.utime(path, (number, number))


@pytest.mark.parametrize(
    ("change", "step"),
    [
        (lambda folder: (folder / "checkpoint").write_text("\0garbage"), 30),
        (lambda folder: (folder / "checkpoint").write_text(""), 30),
        (lambda folder: (folder / "checkpoint").write_text(ELSEWHERE), 30),
        (lambda folder: (folder / "checkpoint").unlink(), 30),
        (reverse_times, 30),
        # Without its index a checkpoint is none.
        (lambda folder: (folder / "ckpt-30.index").unlink(), 20),
    ],
)
def test_what_tensorflow_notes_and_times_do_not_matter(folder, trainer, change, step):
    change(folder)
    assert restored(folder, trainer) == step


def test_the_state_file_that_could_not_be_written_is_mended(
    checkpoints, folder, trainer, monkeypatch
):
    """The disk failed right after the checkpoint itself: it is the last all the same."""
    fill(trainer, 40)
    with monkeypatch.context() as patch:
        patch.setattr("trainers.training.checkpoints.write_text", failing(OSError(5, "failing")))
        with pytest.raises(StorageError, match="Cannot write the checkpoint"):
            checkpoints.save()
    assert tf.train.latest_checkpoint(folder) == str(folder / "ckpt-30")
    assert restored(folder, trainer) == 40
    assert tf.train.latest_checkpoint(folder) == str(folder / "ckpt-40")


DISK_ERRORS = {
    os.strerror(errno.EINTR): tf.errors.UnavailableError,
    os.strerror(errno.ENOSPC): tf.errors.ResourceExhaustedError,
    os.strerror(errno.EIO): tf.errors.UnknownError,
}


def failing(error):
    def fail(*arguments):
        raise error

    return fail


@pytest.mark.parametrize("text", DISK_ERRORS)
@pytest.mark.parametrize(
    ("method", "operation", "message"),
    [
        ("restore", "read", "Cannot read the checkpoint .*ckpt-30: {}"),
        ("save", "write", "{}.*ckpt-30, is kept"),
    ],
)
def test_a_disk_that_fails_is_not_a_damaged_checkpoint(
    checkpoints, folder, trainer, text, method, operation, message, monkeypatch
):
    error = DISK_ERRORS[text](None, None, f"/somewhere; {text}")
    with monkeypatch.context() as patch:
        patch.setattr(tf.train.Checkpoint, operation, failing(error))
        with pytest.raises(StorageError, match=message.format(text)):
            getattr(checkpoints, method)()
    assert restored(folder, trainer) == 30


def test_all_damaged_is_an_error_that_names_each(folder, trainer):
    for name, how in (("ckpt-20", "data flipped"), ("ckpt-30", "index cut")):
        damage(folder, name, how)
    named = r"Cannot restore any checkpoint in .*: ckpt-30: .*; ckpt-20: .*Bring one back"
    with pytest.raises(ConfigError, match=named):
        restored(folder, trainer)


def test_wall_time_is_not_that_of_the_clock_on_the_wall(config, tmp_path, monkeypatch):
    """It goes back a day at every look: seconds go on growing all the same."""
    days = iter(range(10**9))
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now - 86400.0 * next(days))
    with eagerly():
        train(dataclasses.replace(config, epochs=1, validate_every=1), tmp_path / "run")
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    seconds = [json.loads(line)["seconds"] for line in lines]
    assert seconds == sorted(seconds)
    assert 0 <= seconds[0] <= seconds[-1] < 3600
