"""What the Text dashboard of TensorBoard says of a run, in Markdown."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from quatre_tf.data.encoding import SPLITS
from quatre_tf.data.graph import Graph
from trainers.commands import command_of
from trainers.reporting import text as report
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
            _table(list(counts), [[f"{count:,}" for count in counts.values()]]),
            _table(["setting", "value", "default, where another"], rows),
        )
    )


def result_card(result: Mapping[str, Any]) -> str:
    """Returns the table of an evaluation, as of `Evaluator.evaluate`."""
    sides = result["candidates"]["all"]
    header = ["", *(report.TITLES[name] for name in report.METRICS)]
    rows = [
        [label, *report.metric_cells(sides[side])] for side, label in report.SIDE_TITLES.items()
    ]
    title = (
        f"Filtered ranking of the {result['split']} split, {result['num_triples']:,} triples, all "
        f"entities as candidates, {result['tie_policy']} ties"
    )
    return f"{title}\n\n{_table(header, rows)}"


def _default(value: Any) -> str:
    return "" if value is dataclasses.MISSING else f"`{value}`"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
