"""The wall time of a search, over all its sessions."""

import math
import time
from collections.abc import Callable

# What is set aside for the runs that have to follow, at most.
_RESERVED_SHARE = 1 / 3


class Budget:
    """Says whether there is time for another run.

    Args:
        minutes: The budget; 0 for no bound.
        spent: Seconds that the runs which are there have taken.
        clock: Seconds from any origin.
    """

    def __init__(self, minutes: float, spent: float, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._seconds = 60.0 * minutes if minutes else math.inf
        self._end = clock() + self._seconds - spent
        self._longest = 0.0

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        return self._clock() >= self._end

    def saw_completed(self, seconds: float) -> None:
        """Records a run that was trained to its end in `seconds`."""
        self._longest = max(self._longest, seconds)

    def has_time(self, runs_after: int = 0) -> bool:
        """Whether a run may start.

        Every run is taken for as long as the longest one that was completed; before there is one,
        for nothing.

        Args:
            runs_after: Runs that have to follow it. Time is set aside for them, a third of the
                budget at most.
        """
        reserved = min(runs_after * self._longest, _RESERVED_SHARE * self._seconds)
        return not self.is_over and self._clock() + self._longest + reserved <= self._end
