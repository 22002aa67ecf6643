"""Writes the metrics of a run to TensorBoard and metrics.jsonl."""

import dataclasses
import os
from collections.abc import Mapping

import tensorflow as tf
from tensorboard.plugins.custom_scalar import layout_pb2, summary

from quatre_tf.data.encoding import SPLITS
from quatre_tf.data.graph import Graph
from quatre_tf.model import KGEModel
from quatre_tf.ranking.split_ranks import SplitRanks
from trainers.commands import command_of
from trainers.reporting.rendering import Table, as_markdown
from trainers.reporting.tensorboard.validation import ValidationSummaries
from trainers.training.config import TrainConfig
from trainers.training.run_directory import RunDirectory

# Category, then chart, then the scalars in it: regular expressions over whole tags.
CHARTS = {
    "Validation": {
        "MRR": "valid/all/mrr",
        "Hits@k": r"valid/all/hits@\d+",
        "MRR by relation": "valid/per_relation/.+",
        "True above corrupted (AUC)": "scores/auc",
    },
    "Training": {
        "Loss and regularisation": "train/(loss|regularization)",
        "Gradient norm": "train/gradient_norm",
        "Learning rate": "train/learning_rate",
        "Table norms": "tables/.+",
    },
    "Speed": {"Triples per second": "train/triples_per_second"},
}


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
            layout = summary.pb(_custom_scalars()).SerializeToString()
            tf.summary.experimental.write_raw_pb(layout, step=0)
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


def _custom_scalars() -> layout_pb2.Layout:
    """Returns `CHARTS` as the layout of the Custom Scalars dashboard."""
    layout = layout_pb2.Layout()
    for category, charts in CHARTS.items():
        added = layout.category.add(title=category)
        for title, tags in charts.items():
            added.chart.add(title=title).multiline.tag.append(f"^{tags}$")
    return layout


def settings_card(config: TrainConfig, graph: Graph) -> str:
    """Returns Markdown: the command, the size of the data set, the settings (unusual first)."""
    counts = {
        "entities": graph.num_entities,
        "relations": graph.num_relations,
        **{f"{split} triples": len(graph.split(split)) for split in SPLITS},
    }
    rows = []
    for field in dataclasses.fields(config):
        value, default = getattr(config, field.name), field.default
        shown = "" if default in (value, dataclasses.MISSING) else f"`{default}`"
        rows.append((value == default, field.name, f"`{value}`", shown))
    # Sorting is stable: both parts stay in the order of the fields.
    rows.sort(key=lambda row: row[0])
    return "\n\n".join(
        (
            f"    {command_of(config)}",
            as_markdown(Table("", [*counts], [[f"{count:,}" for count in counts.values()]])),
            as_markdown(
                Table("", ["setting", "value", "default, if different"], [row[1:] for row in rows])
            ),
        )
    )
