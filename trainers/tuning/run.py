"""Trains one run of a search as far as it has to be."""

import gc
from collections.abc import Callable, Mapping
from typing import Any

import keras

from quatre_tf.errors import TrainingError
from trainers.training.config import TrainConfig
from trainers.training.fitting import train
from trainers.training.run_directory import drop_unless_resumable
from trainers.tuning.budget import Budget
from trainers.tuning.trials import COMPLETED, FAILED, PRUNED, UNFINISHED, TrialRun

# Takes the epoch and the value of a validation.
IsPruned = Callable[[float, float], bool]


class Judge:
    """Decides after each validation of a run whether to continue.

    Args:
        config: Settings of the run.
        is_pruned: Whether another trial's time is better spent.
        budget: Of the search.

    Attributes:
        state: How the run will have ended, if it ends now (`trainers.tuning.trials.Result`).
    """

    def __init__(self, config: TrainConfig, is_pruned: IsPruned, budget: Budget):
        self._config, self._is_pruned, self._budget = config, is_pruned, budget
        self.state = COMPLETED

    def __call__(self, epoch: float, metrics: Mapping[str, float]) -> bool:
        """Returns whether to continue."""
        self.recall(epoch, metrics)
        if self.state == COMPLETED and epoch < self._config.epochs and self._budget.is_over:
            self.state = UNFINISHED
        return self.state == COMPLETED

    def recall(self, epoch: float, metrics: Mapping[str, float]) -> None:
        """Judges a validation of an earlier session, which had its time."""
        if self._is_pruned(epoch, metrics[self._config.best_by]):
            self.state = PRUNED


def free_memory() -> None:
    """Lets go of the last run: models and compiled functions refer to each other in circles."""
    keras.utils.clear_session()
    gc.collect()


def finish_run(run: TrialRun, judge: Judge, sources: Mapping[str, Any]) -> None:
    """Trains a run until it is over, or the time is.

    Args:
        run: The run, begun or not.
        judge: It has recalled the validations that are there.
        sources: `data_dir` and `manual_dir` of `train`.
    """
    state, message = judge.state, ""
    if state == COMPLETED:
        state, message = _train(run, judge, sources)
    if state != UNFINISHED:
        run.end(state, message)
    print(f"{run.directory.path.name}: {state}. {message}".rstrip(), flush=True)


def _train(run: TrialRun, judge: Judge, sources: Mapping[str, Any]) -> tuple[str, str]:
    """Returns how the run ended, and why."""
    directory = run.directory
    drop_unless_resumable(directory)
    resume = directory.has_run
    try:
        train(run.config, directory.path, resume=resume, on_validation=judge, **sources)
    except TrainingError as error:
        return FAILED, str(error)
    finally:
        free_memory()
    return judge.state, ""
