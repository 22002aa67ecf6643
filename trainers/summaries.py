"""Where figures of a run go: TensorBoard and metrics.jsonl."""

import os
from collections.abc import Mapping

import tensorflow as tf

from trainers.run_directory import RunDirectory


class Summaries:
    """Writes each figure once to TensorBoard and once to metrics.jsonl."""

    def __init__(self, run: RunDirectory):
        self._run = run
        self._writer = tf.summary.create_file_writer(os.fspath(run.tensorboard))

    def write(
        self, group: str, values: Mapping[str, float], *, step: int, epoch: float, seconds: float
    ) -> None:
        """Writes the scalars `group/name` at a step."""
        with self._writer.as_default(step=step):
            for name, value in values.items():
                tf.summary.scalar(f"{group}/{name}", value)
        self._writer.flush()
        place = {"group": group, "step": step, "epoch": epoch, "seconds": round(seconds, 2)}
        self._run.append_metrics({**place, **values})
