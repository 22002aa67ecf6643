"""Numbers that leave the range of float32: the run stops, and nothing of them is saved."""

import dataclasses

import numpy as np
import pytest

from quatre_tf.errors import TrainingError
from tests.trainers.training.survival import state
from tests.trainers.training.wiring import eagerly
from trainers.training.fitting import train
from trainers.training.trainer import Trainer


@pytest.mark.parametrize(
    ("settings", "reason", "remedy"),
    [
        # The loss of the first step is that of the initial weights: only they are beyond.
        ({"learning_rate": 3e38}, "its weights are not all finite", "--learning_rate or --l2"),
        # Loss and gradient are computed before the update, which is the last.
        (
            {"learning_rate": 3e38, "epochs": 1, "steps_per_epoch": 1, "validate_every": 1},
            "its weights are not all finite",
            "--learning_rate or --l2",
        ),
        ({"init_scale": 1e30}, "these are not all finite: loss", "--init_scale or --l2"),
        # Times the squares of the rows.
        ({"l2": 3e38}, "these are not all finite: loss", "--l2"),
    ],
)
def test_nothing_is_saved(config, tmp_path, settings, reason, remedy):
    run_dir = tmp_path / "run"
    with eagerly(), pytest.raises(TrainingError) as caught:
        train(dataclasses.replace(config, **settings), run_dir)
    assert reason in str(caught.value)
    assert "There is no checkpoint yet; nothing was written" in str(caught.value)
    assert str(caught.value).endswith(f"in another --run_dir with a smaller {remedy}.")
    assert not (run_dir / "best" / "model.keras").exists()
    assert not list((run_dir / "checkpoints").glob("ckpt*"))


def test_what_was_good_stays(config, tmp_path, monkeypatch):
    """A value that is not finite comes with a call of the loop; a Ctrl-C may come with it."""
    calls, original = [], Trainer.train

    def spoiled(self, num_steps):
        progress = original(self, num_steps)
        calls.append(num_steps)
        if len(calls) == 2:
            for slot in self.optimizer.slots(self._variables[-1]).values():
                slot[0, 0].assign(np.inf)
            raise KeyboardInterrupt
        return progress

    monkeypatch.setattr(Trainer, "train", spoiled)
    with (
        eagerly(),
        pytest.raises(TrainingError, match=r"The last good checkpoint is .*/ckpt-1; nothing"),
    ):
        train(config, tmp_path / "run")
    for name, value in state(tmp_path / "run").items():
        assert np.isfinite(value).all(), name
