"""Checkpoints of a run: everything that going on exactly needs."""

import os
import pathlib

import tensorflow as tf

from trainers.errors import ConfigError
from trainers.trainer import Trainer

# The one before the last stays, for the case that the last cannot be read.
_KEPT = 2


class RunState(tf.Module):
    """What the outer loop has to remember across a resume.

    Attributes:
        best_value: Best validation Hits@10 so far, -1 before the first.
        best_step: The step it was reached at.
        stale: Validations since then.
        seconds: Wall time spent so far, validation and checkpoints included.
    """

    def __init__(self) -> None:
        super().__init__()
        self.best_value = tf.Variable(-1.0, dtype=tf.float64, trainable=False)
        self.best_step = tf.Variable(0, dtype=tf.int64, trainable=False)
        self.stale = tf.Variable(0, dtype=tf.int64, trainable=False)
        self.seconds = tf.Variable(0.0, dtype=tf.float64, trainable=False)


class Checkpoints:
    """Saves and restores tables, accumulators, step and `RunState` together."""

    def __init__(self, folder: pathlib.Path, trainer: Trainer, state: RunState):
        self._trainer = trainer
        self._checkpoint = tf.train.Checkpoint(**trainer.state, state=state)
        self._manager = tf.train.CheckpointManager(
            self._checkpoint, os.fspath(folder), max_to_keep=_KEPT
        )

    @property
    def latest(self) -> str | None:
        """Path prefix of the last checkpoint."""
        return self._manager.latest_checkpoint

    def save(self) -> str:
        """Writes a checkpoint and returns its path prefix."""
        return self._manager.save(checkpoint_number=int(self._trainer.step.numpy()))

    def restore(self) -> None:
        """Takes everything back to the last checkpoint and rewinds the batches to it.

        Raises:
            ConfigError: There is no checkpoint, or it is not of this model.
        """
        if self.latest is None:
            raise ConfigError(
                f"There is no checkpoint in {self._manager.directory} to resume from: the run was "
                "imported, or stopped before its first one. Start another one in another --run_dir."
            )
        try:
            self._checkpoint.restore(self.latest).assert_existing_objects_matched()
        except (tf.errors.OpError, AssertionError, ValueError) as error:
            raise ConfigError(f"Cannot restore the checkpoint {self.latest}: {error}") from error
        self._trainer.rewind()
