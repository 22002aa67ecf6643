"""The settings of a run as Markdown, for the Text dashboard of TensorBoard."""

import dataclasses
from typing import Any

from quatre_tf.data.encoding import SPLITS
from quatre_tf.data.graph import Graph
from trainers.commands import command_of
from trainers.reporting.rendering import Table, as_markdown
from trainers.training.config import TrainConfig


def settings_card(config: TrainConfig, graph: Graph) -> str:
    """Returns the command, the size of the data set and the settings, the unusual ones first."""
    counts = {
        "entities": graph.num_entities,
        "relations": graph.num_relations,
        **{f"{split} triples": len(graph.split(split)) for split in SPLITS},
    }
    usual = {field.name: field.default for field in dataclasses.fields(config)}
    settings = dataclasses.asdict(config)
    # Sorting is stable: both parts stay in the order of the fields.
    names = sorted(settings, key=lambda name: settings[name] == usual[name])
    rows = [
        (
            name,
            f"`{settings[name]}`",
            "" if settings[name] == usual[name] else _default(usual[name]),
        )
        for name in names
    ]
    return "\n\n".join(
        (
            f"    {command_of(config)}",
            as_markdown(Table("", [*counts], [[f"{count:,}" for count in counts.values()]])),
            as_markdown(Table("", ["setting", "value", "default, if different"], rows)),
        )
    )


def _default(value: Any) -> str:
    return "" if value is dataclasses.MISSING else f"`{value}`"
