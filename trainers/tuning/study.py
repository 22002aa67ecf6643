"""Chooses and prunes the configurations of a search, with Optuna in memory."""

from typing import Any

import optuna

from trainers.training.setting import Choices, LogUniform
from trainers.tuning.plan import Search, Space

# Of the trials that reached an epoch, one in three continues to three times as many.
_REDUCTION_FACTOR = 3


class Trial:
    """A configuration, and whether it continues.

    Attributes:
        point: Values of the settings that vary.
    """

    def __init__(self, trial: optuna.Trial, space: Space, last_epoch: int):
        self._trial, self._last_epoch = trial, last_epoch
        self._seen: set[int] = set()
        self.point = {name: _short(value, space[name]) for name, value in trial.params.items()}

    def is_pruned(self, epoch: float, value: float) -> bool:
        """Returns whether to end it at this validation.

        The last epoch is not judged any more, and a validation that a resumed run repeats is not
        judged again.

        Args:
            epoch: A whole number of epochs.
            value: Validation figure, to be high.
        """
        step = round(epoch)
        if step in self._seen or step >= self._last_epoch:
            return False
        self._seen.add(step)
        self._trial.report(value, step)
        return self._trial.should_prune()


def ask_trials(search: Search) -> list[Trial]:
    """Returns the trials of a search in their order; the same ones at every call.

    The grid of the paper is walked and not pruned. Random configurations are judged by asynchronous
    successive halving (Li et al., A System for Massively Parallel Hyperparameter Tuning, MLSys
    2020): at epochs v, 3v, 9v, ... with v the epochs to the first validation, a trial goes on when
    it is in the best third of all that were there before it.
    """
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    base = search.base()
    halving = optuna.pruners.SuccessiveHalvingPruner(base.validate_every, _REDUCTION_FACTOR)
    study = optuna.create_study(
        direction="maximize",
        sampler=optuna.samplers.RandomSampler(search.seeds[0]),
        pruner=optuna.pruners.NopPruner() if search.grid else halving,
    )
    for point in search.grid:
        study.enqueue_trial(point)
    distributions = {name: _distribution(values) for name, values in search.space.items()}
    return [
        Trial(study.ask(distributions), search.space, base.epochs) for _ in range(search.num_trials)
    ]


def _distribution(values: Choices | LogUniform) -> optuna.distributions.BaseDistribution:
    if isinstance(values, LogUniform):
        return optuna.distributions.FloatDistribution(values.low, values.high, log=True)
    return optuna.distributions.CategoricalDistribution(values)


def _short(value: Any, values: Choices | LogUniform) -> Any:
    """Rounds a drawn number to three digits, for users to read and type."""
    return float(f"{value:.3g}") if isinstance(values, LogUniform) else value
