"""The HParams dashboard of TensorBoard: a table with a row for each run."""

import dataclasses
import os
import pathlib
from collections.abc import Mapping

import tensorflow as tf
from tensorboard.plugins.hparams import api

from trainers.training.config import TrainConfig
from trainers.training.run_directory import RunDirectory

# A folder of its own, because TensorBoard makes a column of every scalar beside the settings; and
# not right below the run's, where the Projector would take the run's checkpoint for its own.
FOLDER = pathlib.PurePath("hparams", "final")


def write_hparams(run: RunDirectory, config: TrainConfig, metrics: Mapping[str, float]) -> None:
    """Makes a run a row of the table: its settings, and what it reached.

    No experiment is declared: it would have to know which settings differ between runs.
    TensorBoard finds these by itself then, and shows them first.

    Args:
        run: The run; the row is called after its folder.
        config: The settings.
        metrics: Figures by the title of their column, such as `valid/mrr`.
    """
    writer = tf.summary.create_file_writer(os.fspath(run.tensorboard / FOLDER))
    with writer.as_default(step=0):
        # Rows of one name are merged. The name comes first, because the column is narrow.
        api.hparams(dataclasses.asdict(config), trial_id=f"{run.path.name} ({run.path.parent})")
        for name, value in metrics.items():
            tf.summary.scalar(name, value)
    writer.close()
