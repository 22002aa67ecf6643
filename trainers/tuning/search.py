"""A hyperparameter search: trials one after another, then the best ones with more seeds."""

import dataclasses
import json
import math
import pathlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from quatre_tf.atomic_files import write_text
from quatre_tf.data.graph import Graph
from quatre_tf.errors import TrainingError
from quatre_tf.ranking.results import METRICS
from trainers.reporting.rendering import write_csv
from trainers.reporting.tensorboard.final import write_hparams
from trainers.reporting.training_log import VALID
from trainers.training.fitting import train
from trainers.training.memory import fits_in_memory, free_memory
from trainers.training.run_directory import (
    RunDirectory,
    check_one_graph,
    check_same,
    drop_unless_resumable,
)
from trainers.training.trainer import check_model
from trainers.tuning import table as tables
from trainers.tuning.plan import Search
from trainers.tuning.study import ask_trials
from trainers.tuning.trials import COMPLETED, FAILED, PRUNED, UNFINISHED, TrialRun

# Takes the epoch and the value of a validation; says whether another trial's time is better spent.
IsPruned = Callable[[float, float], bool]


def run_search(
    search: Search, graph: Graph, output: pathlib.Path, **sources: Any
) -> list[TrialRun]:
    """Trains what is not there yet, and writes `output`/trials.csv and `output`/best.json.

    Each run is a run directory of its own in `output`. A finished one is read, an interrupted one
    resumed, so the same call continues where it stopped. The test split is not ranked.

    Args:
        search: What to search, and how long.
        graph: Its graph.
        output: The folder of the runs.
        **sources: `data_dir` and `manual_dir` of `datasets.catalog.load`.

    Returns:
        All runs, in the order they were trained.

    Raises:
        ConfigError: A run in `output` has other settings, or is in use; or the model refuses the
            settings.
        DataError: The data set is not available, or changed after a run.
    """
    trials = ask_trials(search)
    # Every run that the search may train.
    runs = {
        (number, seed): TrialRun.read(
            output / f"trial-{number:03d}-seed{seed}", number, search.config(trial.point, seed)
        )
        for number, trial in enumerate(trials, start=1)
        for seed in search.seeds
    }
    # All of them first: a conflict should not show after days of training.
    for run in runs.values():
        check_same(run.config, run.directory)
    directories = [run.directory for run in runs.values()]
    check_one_graph(directories, graph)
    check_model(search.base(), graph)
    output.mkdir(parents=True, exist_ok=True)
    left = (60.0 * search.budget_minutes or math.inf) - sum(run.seconds for run in runs.values())
    series = _Series(search, graph, output, directories, time.monotonic() + left, sources)
    first, *others = search.seeds
    for number, trial in enumerate(trials, start=1):
        title, followers = f"[{number}/{len(trials)}]", search.finalists * len(others)
        if not series.finish(runs[number, first], title, trial.is_pruned, followers):
            break
    finalists = tables.best_trials(series.results, first)[: search.finalists]
    for run in (runs[finalist.number, seed] for seed in others for finalist in finalists):
        if not series.finish(run, "[finalist]", lambda _epoch, _value: False):
            break
    summary = tables.summarize(search, series.results)
    write_text(output / "best.json", json.dumps(summary, indent=2) + "\n")
    return series.results


@dataclasses.dataclass(frozen=True)
class _Series:
    """Finishes runs until the clock is at `end`, and keeps the books."""

    search: Search
    graph: Graph
    output: pathlib.Path
    directories: Sequence[RunDirectory]
    end: float
    sources: Mapping[str, Any]
    results: list[TrialRun] = dataclasses.field(default_factory=list)

    def finish(self, run: TrialRun, title: str, is_pruned: IsPruned, followers: int = 0) -> bool:
        """Trains a run until it is over, or the time is; returns whether it is over."""
        best_by = run.config.best_by
        # Validations of earlier sessions had their time.
        validations = [record for record in run.records if record["group"] == VALID]
        judged = [is_pruned(record["epoch"], record[best_by]) for record in validations]
        if run.state == UNFINISHED and self._has_time(run, followers):
            settings = (f"{name}={getattr(run.config, name):g}" for name in self.search.space)
            print(f"\n{title} {run.path.name}: {', '.join(settings)}", flush=True)
            state, message = (PRUNED, "") if any(judged) else self._train(run, is_pruned)
            if state != UNFINISHED:
                run.end(state, message)
            print(f"{run.path.name}: {state}. {message}".rstrip(), flush=True)
            check_one_graph(self.directories, self.graph)
            run = TrialRun.read(run.path, run.number, run.config)
            figures = {f"valid/{name}": (run.best or {})[name] for name in METRICS if run.best}
            write_hparams(run.directory, run.config, figures)
        if run.directory.has_run or run.state == FAILED:
            self._note(run)
        return run.state != UNFINISHED

    def _train(self, run: TrialRun, is_pruned: IsPruned) -> tuple[str, str]:
        """Returns how the run ended, and why."""
        state = COMPLETED

        def goes_on(epoch: float, metrics: Mapping[str, float]) -> bool:
            nonlocal state
            if is_pruned(epoch, metrics[run.config.best_by]):
                state = PRUNED
            elif epoch < run.config.epochs and time.monotonic() >= self.end:
                state = UNFINISHED
            return state == COMPLETED

        drop_unless_resumable(run.directory)
        resume = run.directory.has_run
        if not resume and not fits_in_memory(run.config, self.graph):
            return FAILED, "It does not fit into memory."
        try:
            train(run.config, run.path, resume=resume, on_validation=goes_on, **self.sources)
        except TrainingError as error:
            return FAILED, str(error)
        finally:
            free_memory()
        return state, ""

    def _has_time(self, run: TrialRun, followers: int) -> bool:
        """Says whether a run may go on, or one that is not there yet start.

        That one and its followers are taken for as long as the longest that was completed; before
        there is one, for nothing. A third of the budget at most is set aside for the followers.
        """
        left = self.end - time.monotonic()
        if run.directory.has_run or left <= 0:
            return left > 0
        longest = max((r.seconds for r in self.results if r.state == COMPLETED), default=0.0)
        return longest + min(followers * longest, 60.0 * self.search.budget_minutes / 3) <= left

    def _note(self, result: TrialRun) -> None:
        self.results.append(result)
        rows = (tables.csv_row(self.search, result) for result in self.results)
        write_csv(self.output / "trials.csv", rows)
