"""Decides when a run validates and ends: by epochs or by wall time.

A plan answers the outer loop's questions; `seconds` is the wall time of the run so far.
"""

import math

from trainers.training.config import TrainConfig

# Of a budget: about so many validations, and at most this share of the time for them; fewer or
# more only to have the least number, as long as half of the time is left for training.
_VALIDATIONS = 10
_VALIDATION_SHARE = 0.15
_LEAST_VALIDATIONS = 5
# For exporting and for reading the weights again, in addition to ranking the test split.
_FINISH_SECONDS = 5.0
# New measurements count so much: the speed of a shared machine drifts.
_SMOOTHING = 0.3


class EpochPlan:
    """`epochs` epochs, a validation every `validate_every`: a function of the step alone."""

    def __init__(self, config: TrainConfig, steps_per_epoch: int):
        self._last = config.epochs * steps_per_epoch
        self._every = config.validate_every * steps_per_epoch

    def last_step(self, step: int, seconds: float) -> int:
        """Returns where training will end, as far as is known; at least `step`."""
        return max(self._last, step)

    def steps_to_go(self, step: int, seconds: float) -> int:
        """Returns the steps to the next validation or the end; 0 when training is over."""
        return max(min(self._last, (step // self._every + 1) * self._every) - step, 0)

    def is_validation_due(self, step: int, seconds: float) -> bool:
        """Returns whether to validate after this step: at multiples, and at the end."""
        return step % self._every == 0 or step == self._last

    def saw_steps(self, count: int, seconds: float) -> None:
        """Records how long `count` steps took; here it does not matter."""

    def saw_validation(self, now: float, seconds: float) -> None:
        """Records a validation that ended at `now` and took `seconds`; nor does it here."""


class BudgetPlan:
    """Ends so that validation, test and export are done when the time is over.

    Everything is planned again from the speed seen so far, after every call of the inner loop; the
    last validation, the test and the export are set aside.

    Args:
        config: Its `budget_minutes`.
        test_share: How many test triples there are for each validation triple.
        validated: Wall time of the run when its last validation ended, in seconds; 0 before the
            first.
        slowest_validation: What the slowest took in earlier sessions, in seconds.
    """

    def __init__(
        self,
        config: TrainConfig,
        test_share: float,
        validated: float = 0.0,
        slowest_validation: float = 0.0,
    ):
        self._budget = 60.0 * config.budget_minutes
        self._test_share = test_share
        self._step_seconds, self._num_calls = 0.0, 0
        self._validated, self._validation_seconds = validated, slowest_validation

    def last_step(self, step: int, seconds: float) -> int:
        """The steps for which there is time, less the validations between."""
        remaining = max(self._end - seconds, 0.0)
        remaining -= self._validation_seconds * math.floor(remaining / self._interval)
        return step + self._steps_in(remaining)

    def steps_to_go(self, step: int, seconds: float) -> int:
        """A step at least, until the time is over."""
        if seconds >= self._end:
            return 0
        return max(1, self._steps_in(min(self._end, self._validated + self._interval) - seconds))

    def is_validation_due(self, step: int, seconds: float) -> bool:
        """After an interval, and at the end."""
        return seconds >= min(self._end, self._validated + self._interval)

    def saw_steps(self, count: int, seconds: float) -> None:
        """A moving average, without the first call, which holds compilation, after the second."""
        share = _SMOOTHING if self._num_calls > 1 else 1.0
        self._num_calls += 1
        self._step_seconds += share * (seconds / count - self._step_seconds)

    def saw_validation(self, now: float, seconds: float) -> None:
        """The slowest is what the last one is taken for."""
        self._validated = now
        self._validation_seconds = max(self._validation_seconds, seconds)

    @property
    def _interval(self) -> float:
        seconds = self._validation_seconds
        usual = max(self._budget / _VALIDATIONS, seconds / _VALIDATION_SHARE)
        # The last one comes after the end.
        rare = (self._end - (_LEAST_VALIDATIONS - 1) * seconds) / _LEAST_VALIDATIONS
        return min(usual, max(rare, seconds, 1.0))

    @property
    def _end(self) -> float:
        """When training has to stop."""
        ranking = self._validation_seconds * (1.0 + self._test_share)
        return self._budget - ranking - min(_FINISH_SECONDS, 0.1 * self._budget)

    def _steps_in(self, seconds: float) -> int:
        return max(0, int(seconds / self._step_seconds)) if self._step_seconds else 0


Plan = EpochPlan | BudgetPlan
