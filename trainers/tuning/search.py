"""A hyperparameter search: trials one after another, then the best ones with more seeds."""

import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from trainers.training.run_directory import RunDirectory, check_one_graph, check_same
from trainers.tuning import dashboard
from trainers.tuning import table as tables
from trainers.tuning.budget import Budget
from trainers.tuning.plan import Search
from trainers.tuning.run import IsPruned, Judge, finish_run
from trainers.tuning.study import Trial, ask_trials
from trainers.tuning.trials import COMPLETED, UNFINISHED, Result, TrialRun

# By the number of the trial and the seed.
Runs = Mapping[tuple[int, int], TrialRun]


def run_search(
    search: Search,
    output: pathlib.Path,
    *,
    data_dir: str | os.PathLike | None = None,
    manual_dir: str | os.PathLike | None = None,
) -> list[Result]:
    """Trains what is not there yet, and writes `output`/trials.csv and `output`/best.json.

    Each run is a run directory of its own in `output`. A finished one is read, an interrupted one
    resumed, so the same call continues where it stopped. The test split is not ranked.

    Args:
        search: What to search, and how long.
        output: The folder of the runs.
        data_dir: Where prepared data sets are kept.
        manual_dir: Folder with downloaded archives.

    Returns:
        All runs, in the order they were trained.

    Raises:
        ConfigError: A run in `output` has other settings, or is in use.
        DataError: The data set is not available, or changed between two runs.
    """
    trials = ask_trials(search)
    runs = _runs(search, output, trials)
    # All of them first: a conflict should not show after days of training.
    for run in runs.values():
        check_same(run.config, run.directory)
    directories = [run.directory for run in runs.values()]
    check_one_graph(directories)
    output.mkdir(parents=True, exist_ok=True)
    dashboard.declare_experiment(search, output)
    spent = sum(run.result().seconds for run in runs.values())
    budget = Budget(search.budget_minutes, spent)
    sources = {"data_dir": data_dir, "manual_dir": manual_dir}
    series = _Series(search, output, directories, budget, sources)
    _train_trials(search, series, runs, trials)
    _train_finalists(search, series, runs)
    tables.write_json(tables.summarize(search, series.results), output / "best.json")
    return series.results


def _runs(search: Search, output: pathlib.Path, trials: Sequence[Trial]) -> Runs:
    """Returns every run that the search may train."""
    return {
        (number, seed): TrialRun(output, number, search.config(trial.point, seed))
        for number, trial in enumerate(trials, start=1)
        for seed in search.seeds
    }


def _train_trials(search: Search, series: "_Series", runs: Runs, trials: Sequence[Trial]) -> None:
    """Trains the configurations with the first seed."""
    followers = search.finalists * (len(search.seeds) - 1)
    for number, trial in enumerate(trials, start=1):
        title = f"[{number}/{len(trials)}]"
        run = runs[number, search.seeds[0]]
        if not series.finish(run, title, trial.is_pruned, followers):
            break


def _train_finalists(search: Search, series: "_Series", runs: Runs) -> None:
    """Trains the best configurations with the other seeds, to the end."""
    finalists = tables.best_trials(series.results, search.seeds[0])[: search.finalists]
    for seed in search.seeds[1:]:
        for finalist in finalists:
            if not series.finish(runs[finalist.number, seed], "[finalist]", _never):
                return


def _never(epoch: float, value: float) -> bool:
    del epoch, value
    return False


class _Series:
    """Finishes runs while there is time, and keeps the books."""

    def __init__(
        self,
        search: Search,
        output: pathlib.Path,
        directories: Sequence[RunDirectory],
        budget: Budget,
        sources: Mapping[str, Any],
    ):
        self._search, self._output, self._directories = search, output, directories
        self._budget, self._sources = budget, sources
        self.results: list[Result] = []

    def finish(self, run: TrialRun, title: str, is_pruned: IsPruned, followers: int = 0) -> bool:
        """Returns whether the run is over; there was no time for it otherwise."""
        judge = Judge(run.config, is_pruned, self._budget)
        for record in run.validations:
            judge.recall(record["epoch"], record)
        if run.state == UNFINISHED and self._has_time(run, followers):
            print(f"\n{title} {run.describe(self._search.space)}", flush=True)
            finish_run(run, judge, self._sources)
            check_one_graph(self._directories)
            dashboard.write_row(run.result())
        if run.directory.has_run:
            self._note(run.result())
        return run.state != UNFINISHED

    def _has_time(self, run: TrialRun, followers: int) -> bool:
        if run.directory.has_run:
            return not self._budget.is_over
        return self._budget.has_time(followers)

    def _note(self, result: Result) -> None:
        self.results.append(result)
        if result.state == COMPLETED:
            self._budget.saw_completed(result.seconds)
        tables.write_csv(self._search, self.results, self._output / "trials.csv")
