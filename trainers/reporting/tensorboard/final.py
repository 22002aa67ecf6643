"""What TensorBoard shows of a run that is done."""

import os
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from quatre_tf.run import Trained
from trainers.reporting.analysis.records import VALID, read_records
from trainers.reporting.tensorboard.cards import result_card
from trainers.reporting.tensorboard.hparams import write_hparams
from trainers.reporting.tensorboard.projector import write_projector
from trainers.training.config import TrainConfig
from trainers.training.run_directory import RunDirectory


def write_final_summaries(run: RunDirectory, trained: Trained, result: Mapping[str, Any]) -> None:
    """Writes the table of the test split, a row of the HParams table and the Projector's files.

    Args:
        run: The run.
        trained: Its best weights and its graph.
        result: Their figures on the test split, as of `Evaluator.evaluate`.
    """
    config = TrainConfig.from_file(run.config_file)
    with tf.summary.create_file_writer(os.fspath(run.tensorboard)).as_default(step=0):
        tf.summary.text("run/test", result_card(result))
    write_hparams(run, config, _figures(run, config, result))
    write_projector(run.tensorboard, trained.model, trained.graph)


def _figures(run: RunDirectory, config: TrainConfig, result: Mapping[str, Any]) -> dict[str, float]:
    """Returns the validation that chose the weights, the test, and the minutes until then."""
    records = read_records(run.metrics_file)
    validations = [record for record in records if record["group"] == VALID]
    best = max(validations, key=lambda record: record[config.best_by])
    test = result["candidates"]["all"]["both"]
    return {
        "valid/mrr": best["mrr"],
        "valid/hits@10": best["hits@10"],
        "test/mrr": test["mrr"],
        "test/hits@10": test["hits@10"],
        "run/minutes": records[-1]["seconds"] / 60,
    }
