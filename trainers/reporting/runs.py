"""Reading a run, and the summary at the top of its report."""

import dataclasses
import pathlib
from collections.abc import Sequence
from typing import Any

from quatre_tf.data.graph import Graph
from quatre_tf.layers.registry import SCORE_FUNCTIONS
from quatre_tf.paths import BEST_MODEL, GRAPH
from quatre_tf.runs.run import Run, load_run
from trainers.reporting.formatting import TITLES, duration, shorten
from trainers.reporting.training_log import best_record, read_records
from trainers.training.config import TrainConfig
from trainers.training.run_directory import RunDirectory

# Models whose class has another name.
_MODELS = {
    "quatre": "QuatRE",
    "quate": "QuatE",
    "quatre_head": "QuatRE, head rotation only",
    "quatre_tail": "QuatRE, tail rotation only",
    "quatre_affine": "QuatRE with translations",
}
# Settings of an imported run that are facts; the others are presets that nothing followed.
_KNOWN_OF_IMPORT = ("dataset", "model", "embedding_dim")


@dataclasses.dataclass(frozen=True)
class ReportedRun:
    """A run as it is found.

    Attributes:
        path: Its folder.
        settings: Of config.json.
        records: Of metrics.jsonl; none when it was imported.
        graph: The graph.
        trained: Its best weights; None before the first validation.
    """

    path: pathlib.Path
    settings: dict[str, Any]
    records: list[dict[str, Any]]
    graph: Graph
    trained: Run | None

    @property
    def model(self) -> str:
        """The name of the model as papers write it."""
        name = self.settings["model"]
        return _MODELS.get(name, SCORE_FUNCTIONS[name].path.split(":")[1])

    @property
    def best(self) -> dict[str, Any] | None:
        """The validation whose weights were kept, a record; None before the first."""
        # An imported run has no records, and what chose its weights is not known.
        return best_record(self.records, self.settings["best_by"]) if self.records else None


def load_reported_run(path: pathlib.Path) -> ReportedRun:
    """Reads a run, also one that is still being trained.

    Raises:
        DataError: The folder is not a run, or a file of it cannot be read.
    """
    run = RunDirectory(path)
    settings = dataclasses.asdict(TrainConfig.from_file(run.config_file))
    if (path / "imported_from.json").exists():
        settings = {name: settings[name] for name in _KNOWN_OF_IMPORT}
    records = read_records(run.metrics_file)
    if not (path / BEST_MODEL).exists():
        return ReportedRun(path, settings, records, Graph.load(path / GRAPH), None)
    trained = load_run(path)
    return ReportedRun(path, settings, records, trained.graph, trained)


def name_runs(runs: Sequence[ReportedRun]) -> dict[str, ReportedRun]:
    """Returns runs by a name for legends: the model where that differs, else the folder."""
    for names in ([run.model for run in runs], [run.path.resolve().name for run in runs]):
        if len(set(names)) == len(runs):
            short = shorten(names)
            return {short[name]: run for name, run in zip(names, runs, strict=True)}
    return {f"run {number}": run for number, run in enumerate(runs, start=1)}


def facts(run: ReportedRun) -> dict[str, str]:
    """Returns what a reader wants to know of a run before its figures."""
    graph, settings = run.graph, run.settings
    splits = (f"{len(graph.split(split)):,}" for split in ("train", "valid", "test"))
    known = {
        "Folder": run.path.resolve().name,
        "Data set": graph.name,
        "Entities": f"{graph.num_entities:,}",
        "Relations": f"{graph.num_relations:,}",
        "Triples (train / valid / test)": " / ".join(splits),
        "Model": run.model,
        "Components per embedding": f"{settings['embedding_dim']:,}",
    }
    return known | (_training_facts(run) if run.records else {"Training": "not recorded"})


def _training_facts(run: ReportedRun) -> dict[str, str]:
    last, best, best_by = run.records[-1], run.best, run.settings["best_by"]
    found = "none yet"
    if best:
        found = f"{best['epoch']:g}\nvalidation {TITLES[best_by]} {best[best_by]:.4f}"
    # A budget stands in the place of the epochs.
    budgeted = run.settings["budget_minutes"] > 0
    most = "" if budgeted else f" of at most {run.settings['epochs']:,}"
    return {
        "Recipe": run.settings["recipe"],
        "Epochs": f"{last['epoch']:g}{most}",
        "Best epoch": found,
        "Wall time": duration(last["seconds"]),
    }
