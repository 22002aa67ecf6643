"""TensorBoard summaries of a finished run: test results, HParams, Projector."""

import dataclasses
import os
import pathlib
from collections.abc import Mapping

import tensorflow as tf
from tensorboard.plugins.hparams import api

from quatre_tf.ranking.results import Results
from quatre_tf.runs.run import Run
from trainers.reporting.evaluation_tables import overall
from trainers.reporting.rendering import as_markdown
from trainers.reporting.tensorboard.projector import write_projector
from trainers.reporting.training_log import best_record, read_records
from trainers.training.config import TrainConfig
from trainers.training.run_directory import RunDirectory

# A folder of its own, because TensorBoard makes a column of every scalar next to the settings; and
# not directly below the run's, where the Projector would find the run's checkpoint.
HPARAMS_FOLDER = pathlib.PurePath("hparams", "final")


def write_final_summaries(run: RunDirectory, trained: Run, results: Results) -> None:
    """Writes the table of the test split, a row of the HParams table and the Projector's files.

    Args:
        run: The run.
        trained: Its best weights and its graph.
        results: Of `Evaluator.evaluate` on the test split.
    """
    config = TrainConfig.from_file(run.config_file)
    with tf.summary.create_file_writer(os.fspath(run.tensorboard)).as_default(step=0):
        tf.summary.text("run/test", as_markdown(overall(results)))
    write_hparams(run, config, _metrics(run, config, results))
    write_projector(run.tensorboard, trained.model, trained.graph)


def write_hparams(run: RunDirectory, config: TrainConfig, metrics: Mapping[str, float]) -> None:
    """Makes a run a row of the HParams table: its settings, and what it reached.

    No experiment is declared: that needs the settings that differ between runs. Without one,
    TensorBoard finds these settings by itself and shows them first.

    Args:
        run: The run; the row has the name of its folder.
        config: The settings.
        metrics: Figures by the title of their column, such as `valid/mrr`.
    """
    writer = tf.summary.create_file_writer(os.fspath(run.tensorboard / HPARAMS_FOLDER))
    with writer.as_default(step=0):
        # Rows of one name are merged. The name comes first, because the column is narrow.
        api.hparams(dataclasses.asdict(config), trial_id=f"{run.path.name} ({run.path.parent})")
        for name, value in metrics.items():
            tf.summary.scalar(name, value)
    writer.close()


def _metrics(run: RunDirectory, config: TrainConfig, results: Results) -> dict[str, float]:
    """Returns the validation that chose the weights, the test, and the minutes until then."""
    records = read_records(run.metrics_file)
    best, test = best_record(records, config.best_by), results.metrics()
    assert best is not None, "a run without a validation has no best weights to evaluate"
    return {
        "valid/mrr": best["mrr"],
        "valid/hits@10": best["hits@10"],
        "test/mrr": test["mrr"],
        "test/hits@10": test["hits@10"],
        "run/minutes": records[-1]["seconds"] / 60,
    }
