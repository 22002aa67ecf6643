"""The progress of a training: a bar on a terminal, lines in a log."""

import sys
import time
from typing import Any

import tqdm

from trainers.reporting import formatting

_FIRST_LOG_SECONDS = 15.0
_LOG_SECONDS = 60.0


class TrainingBar:
    """A progress bar on a terminal; in a log, a line a minute.

    Args:
        last_step: The step at which training will end.
        step: The step at which it begins.
    """

    def __init__(self, last_step: int, step: int):
        self._bar = tqdm.tqdm(
            total=last_step,
            initial=step,
            unit="step",
            disable=None,
            dynamic_ncols=True,
            smoothing=0.05,
            bar_format="{desc}{percentage:3.0f}%|{bar}| {elapsed}, {remaining} left",
        )
        self._step = step
        self._timed_from: tuple[int, float] | None = None
        self._next_line = time.monotonic() + _FIRST_LOG_SECONDS

    def __enter__(self) -> "TrainingBar":
        return self

    def __exit__(self, *exception: Any) -> None:
        self._bar.close()

    def advance(
        self, num_steps: int, last_step: int, epoch: float, loss: float, rate: float
    ) -> None:
        """Shows that `num_steps` more of `last_step` steps are done; `rate` is triples a second."""
        self._step += num_steps
        self._bar.total = last_step
        text = f"{epoch:.1f}  loss {loss:.4f}  {rate:,.0f} triples/s"
        self._bar.set_description_str(f"epoch {text}  ", refresh=False)
        self._bar.update(num_steps)
        if self._timed_from is None:
            # The first call includes compilation, so its rate is far too low.
            self._timed_from = self._step, time.monotonic()
        elif self._bar.disable and time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + _LOG_SECONDS
            first_step, start = self._timed_from
            seconds_per_step = (time.monotonic() - start) / (self._step - first_step)
            remaining = formatting.duration(seconds_per_step * (last_step - self._step))
            self.write(f"epoch {text}  remaining {remaining}")

    def write(self, line: str) -> None:
        """Prints a line above the bar."""
        tqdm.tqdm.write(line, file=sys.stdout)
        sys.stdout.flush()
