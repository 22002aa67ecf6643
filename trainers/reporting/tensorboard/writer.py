"""Where figures of a run go: TensorBoard and metrics.jsonl."""

import os
from collections.abc import Mapping

import tensorflow as tf

from quatre_tf.data.graph import Graph
from quatre_tf.model import KGEModel
from quatre_tf.ranking.split_ranks import SplitRanks
from trainers.reporting.tensorboard.layout import write_layout
from trainers.reporting.tensorboard.settings import settings_card
from trainers.reporting.tensorboard.validation import ValidationSummaries
from trainers.training.config import TrainConfig
from trainers.training.run_directory import RunDirectory


class Summaries:
    """Writes each figure once to TensorBoard and once to metrics.jsonl.

    Args:
        run: The run; also an attribute.
        config: Its settings.
        graph: Its graph.
    """

    def __init__(self, run: RunDirectory, config: TrainConfig, graph: Graph):
        self.run = run
        self._validation = ValidationSummaries(config, graph)
        self._writer = tf.summary.create_file_writer(os.fspath(run.tensorboard))
        with self._writer.as_default(step=0):
            write_layout()
            tf.summary.text("run/settings", settings_card(config, graph))

    def write(
        self, group: str, values: Mapping[str, float], *, step: int, epoch: float, seconds: float
    ) -> None:
        """Writes the scalars `group/name` at a step."""
        with self._writer.as_default(step=step):
            for name, value in values.items():
                tf.summary.scalar(f"{group}/{name}", value)
        self._writer.flush()
        place = {"group": group, "step": step, "epoch": epoch, "seconds": round(seconds, 2)}
        self.run.append_metrics({**place, **values})

    def write_validation(self, model: KGEModel, ranks: SplitRanks, step: int) -> None:
        """Writes what TensorBoard alone has of a validation; see `ValidationSummaries`."""
        with self._writer.as_default(step=step):
            self._validation.write(model, ranks)
        self._writer.flush()
