"""Checkpoints of a run: the complete state, so that resuming is exact."""

import os
import pathlib
import shutil
import sys

import tensorflow as tf

from quatre_tf.atomic_files import write_text
from quatre_tf.errors import ConfigError
from saved_models.storage import StorageError, disk_reason, writing
from trainers.training.run_directory import checkpoint_steps
from trainers.training.trainer import Trainer

# The one before the last stays, for the case that the last cannot be read.
_KEPT = 2
_PARTIAL = "partial"
# Characters of a reason: of another model's checkpoint, TensorFlow lists every variable.
_LONGEST = 200
# What TensorFlow raises for a checkpoint that is damaged, or of another model.
_UNREADABLE = (tf.errors.OpError, AssertionError, IndexError, ValueError)


class RunState(tf.Module):
    """What the outer loop has to remember across a resume.

    Attributes:
        best_value: Best validation figure so far, -1 before the first.
        best_step: The step it was reached at.
        stale: Validations since then.
        validated_step: The step of the last validation.
        validated_seconds: When it ended, in wall time of the run.
        slowest_validation: What the slowest so far took, in seconds.
        seconds: Wall time spent so far, validation and checkpoints included.
    """

    def __init__(self) -> None:
        super().__init__()
        self.best_value = tf.Variable(-1.0, dtype=tf.float64, trainable=False)
        self.best_step = tf.Variable(0, dtype=tf.int64, trainable=False)
        self.stale = tf.Variable(0, dtype=tf.int64, trainable=False)
        self.validated_step = tf.Variable(0, dtype=tf.int64, trainable=False)
        self.validated_seconds = tf.Variable(0.0, dtype=tf.float64, trainable=False)
        self.slowest_validation = tf.Variable(0.0, dtype=tf.float64, trainable=False)
        self.seconds = tf.Variable(0.0, dtype=tf.float64, trainable=False)


class Checkpoints:
    """Saves and restores tables, the optimizer's slots, step and `RunState` together.

    The files are the whole truth: a checkpoint is `ckpt-STEP.index` with its data beside it, and
    the last has the highest step. What is being written has another name.
    """

    def __init__(self, folder: pathlib.Path, trainer: Trainer, state: RunState):
        self._folder, self._trainer = folder, trainer
        self._checkpoint = tf.train.Checkpoint(**trainer.state, state=state)
        # Names of those that are known to be good, the last at the end.
        self._good: list[str] = []

    @property
    def latest(self) -> str | None:
        """Path prefix of the last checkpoint that was written or restored."""
        return os.fspath(self._folder / self._good[-1]) if self._good else None

    def save(self) -> str:
        """Writes a checkpoint and returns its path prefix.

        Raises:
            StorageError: The disk does not take it; those before are kept.
        """
        name = f"ckpt-{int(self._trainer.step.numpy())}"
        kept = (
            f"The checkpoint before, {self.latest}, is kept"
            if self._good
            else "There was none before"
        )
        remedy = f"{kept}. Make room there, then go on with --resume."
        try:
            with writing("the checkpoint", self._folder / name, remedy, self._num_bytes):
                self._checkpoint.write(os.fspath(self._folder / _PARTIAL))
                self._publish(name)
        finally:
            self._clear()
        return os.fspath(self._folder / name)

    def restore(self) -> None:
        """Takes everything back to the last good checkpoint and rewinds the batches to it.

        Raises:
            ConfigError: All are damaged, or they are not of this model.
            StorageError: The disk does not give the last one. Going on from the one before would
                lose work for a failure that may pass.
        """
        failures: list[str] = []
        for step in checkpoint_steps(self._folder):
            name = f"ckpt-{step}"
            try:
                path = os.fspath(self._folder / name)
                self._checkpoint.read(path).assert_existing_objects_matched()
                if not self._trainer.is_finite:
                    raise ValueError("it holds NaN or infinite values")
            except _UNREADABLE as error:
                if reason := disk_reason(error):
                    raise StorageError(
                        f"Cannot read the checkpoint {path}: {reason}. Nothing was changed: go on "
                        "with --resume once the disk works again, or move the files of that "
                        "checkpoint away to go on from the one before."
                    ) from error
                failures.append(f"{name}: {_first_line(error)}")
                continue
            self._good = [name]
            # Outdated where the disk failed after the checkpoint, or the last one is damaged.
            self._point_to(name)
            self._trainer.rewind()
            if failures:
                sys.stderr.write(f"Going on from {name}. Cannot read {'; '.join(failures)}\n")
            return
        raise ConfigError(
            f"Cannot restore any checkpoint in {self._folder}: {'; '.join(failures)}. Expected one "
            "of this model. Bring one back from a copy, or start again in another --run_dir."
        )

    @property
    def _num_bytes(self) -> int:
        state = self._trainer.state
        parts = [state["tables"], *state["optimizer"].values()]
        return sum(v.shape.num_elements() * v.dtype.size for part in parts for v in part)

    def _publish(self, name: str) -> None:
        """Gives what was written its name, the index last: with it the checkpoint is there."""
        for path in sorted(self._folder.glob(f"{_PARTIAL}.*")):
            os.replace(path, path.with_name(path.name.replace(_PARTIAL, name, 1)))
        self._good = [*(good for good in self._good if good != name), name][-_KEPT:]
        self._point_to(name)
        for path in self._folder.glob("ckpt-*"):
            if path.name.partition(".")[0] not in self._good:
                path.unlink()

    def _point_to(self, name: str) -> None:
        # For tf.train.latest_checkpoint; nothing of ours reads it.
        write_text(self._folder / "checkpoint", f'model_checkpoint_path: "{name}"\n')

    def _clear(self) -> None:
        """Removes what is left of a checkpoint that was not written to its end."""
        for path in self._folder.glob(f"{_PARTIAL}.*"):
            path.unlink()
        shutil.rmtree(self._folder / f"{_PARTIAL}_temp", ignore_errors=True)


def _first_line(error: BaseException) -> str:
    text = str(getattr(error, "message", error)).partition("\n")[0]
    return text.rpartition("}} ")[2][:_LONGEST]
