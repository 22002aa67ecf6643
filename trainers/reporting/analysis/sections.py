"""The sections of the page about runs: facts, learning curves, the map of entities.

Each writes its PNG and CSV files and returns its HTML.
"""

import pathlib
from collections.abc import Mapping, Sequence

from quatre_tf.data.graph import Graph
from quatre_tf.run import Trained
from trainers.reporting.analysis import page
from trainers.reporting.analysis.curves import draw_curves
from trainers.reporting.analysis.embedding_map import EmbeddingMap, choose_relations, make_map
from trainers.reporting.analysis.map_picture import draw_map
from trainers.reporting.analysis.rows import tagged, write_csv
from trainers.reporting.analysis.runs import Run, facts

Runs = Mapping[str, Run]
_CURVES = "Learning curves"
_MAP = "Map of entities"


def head(runs: Runs) -> str:
    """The facts of the runs, and their settings folded away."""
    settings = {
        name: {setting: str(value) for setting, value in run.settings.items()}
        for name, run in runs.items()
    }
    return page.section(
        "Run" if len(runs) == 1 else "Runs",
        _facts_table("", {name: facts(run) for name, run in runs.items()}),
        page.details("All settings", _facts_table("As in config.json", settings)),
    )


def curves(runs: Runs, output: pathlib.Path) -> str:
    """Learning curves of the runs that have any."""
    recorded = {name: run for name, run in runs.items() if run.records}
    if not recorded:
        return page.section(_CURVES, page.note("There is no metrics.jsonl: nothing is recorded."))
    write_csv(output / "curves.csv", tagged({name: run.records for name, run in recorded.items()}))
    draw_curves(recorded, output / "curves.png")
    return page.section(
        _CURVES,
        page.figure(
            output / "curves.png",
            "Training loss, validation MRR and validation Hits@10 over the epochs",
            "Mean training loss per triple without regularisation, on a logarithmic axis; filtered "
            "ranking of the validation split among all entities. Circles rank a fixed sample of "
            "the validation split: compare them with each other, not with the line. The star is "
            "the validation whose weights were kept.",
        ),
    )


def entity_map(name: str, trained: Trained, relations: Sequence[str], output: pathlib.Path) -> str:
    """The entities of chosen relations by t-SNE; without a choice, of a telling pair."""
    graph = trained.graph
    relations = relations or choose_relations(graph)
    layout = make_map(graph, trained.model.entities.embeddings.numpy(), relations)
    if layout is None:
        return page.section(_MAP, page.note("These relations have too few entities for a map."))
    draw_map(layout, output / "entity_map.png")
    write_csv(output / "entity_map.csv", _map_rows(graph, layout))
    return page.section(
        _MAP,
        page.figure(
            output / "entity_map.png",
            f"Map of the entities of {' and '.join(relations)}",
            f"{name}: t-SNE of the embeddings (the four component blocks side by side) of "
            f"entities that occur as head or tail of {', '.join(relations)}, in any split; "
            f"{layout.group_names[-1]}: in more than one of them. Near points have similar "
            "embeddings; distances between clusters mean little.",
        ),
    )


def _map_rows(graph: Graph, layout: EmbeddingMap) -> list[dict]:
    names = graph.entities.names[layout.entities]
    return [
        {
            "entity": name,
            "label": graph.labels.get(name, ""),
            "relation": layout.group_names[group],
            "x": float(x),
            "y": float(y),
        }
        for name, group, (x, y) in zip(names, layout.groups, layout.positions, strict=True)
    ]


def _facts_table(caption: str, by_run: Mapping[str, Mapping[str, str]]) -> str:
    names = dict.fromkeys(name for known in by_run.values() for name in known)
    body = [[name, *(known.get(name, "-") for known in by_run.values())] for name in names]
    return page.table(caption, ["", *by_run], body)
