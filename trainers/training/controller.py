"""The outer loop: validate, keep the best, checkpoint, stop early, show progress."""

import contextlib
import math
import time
from collections.abc import Callable, Mapping

import numpy as np
import tensorflow as tf

from quatre_tf.errors import TrainingError
from quatre_tf.paths import BEST_MODEL
from quatre_tf.ranking.evaluator import Evaluator
from quatre_tf.runs.best_model import save_best
from saved_models.storage import writing
from trainers.reporting import formatting
from trainers.reporting.progress_bar import TrainingBar
from trainers.reporting.tensorboard.writer import Summaries
from trainers.training.checkpoints import Checkpoints, RunState
from trainers.training.config import REGULARIZERS, SETTINGS, TrainConfig
from trainers.training.planning import Plan
from trainers.training.signals import uninterrupted
from trainers.training.strategies import chief_value
from trainers.training.trainer import Trainer

# A call of the inner loop takes about this long: Ctrl-C is answered after the call.
_SECONDS_PER_CALL = 1.0
_CHECKPOINT_SECONDS = 600.0
# When validation triples are sampled: so that nobody watches a long run blind.
_FIRST_SAMPLE_SECONDS = 60.0
_SAMPLE_SECONDS = 300.0
_SAMPLE_TRIPLES = 256


# Takes the epoch and the figures of a validation; returns whether to continue.
OnValidation = Callable[[float, Mapping[str, float]], bool]


def always(epoch: float, metrics: Mapping[str, float]) -> bool:
    """Goes on: the run's own plan and patience say when it ends."""
    del epoch, metrics
    return True


class Clock:
    """Wall time of a run over all its sessions, in seconds: the chief's.

    Args:
        started: `Clock.now()` when this session began.
        before: What the sessions before took.
        strategy: Its workers read the clock together, so that they decide alike.

    Attributes:
        now: Returns the time in seconds since some fixed moment. Tests replace it.
    """

    now: Callable[[], float] = staticmethod(time.monotonic)

    def __init__(self, started: float, before: float, strategy: tf.distribute.Strategy):
        self._start, self._strategy = started - before, strategy
        self.last = before

    @property
    def seconds(self) -> float:
        """Since the run began; `last` is what was read last, for a worker on its own."""
        self.last = chief_value(self._strategy, self.now() - self._start)
        return self.last


class Controller:
    """Drives a `Trainer` from its step to the end of the run."""

    def __init__(
        self,
        config: TrainConfig,
        summaries: Summaries,
        trainer: Trainer,
        checkpoints: Checkpoints,
        state: RunState,
        evaluator: Evaluator,
        plan: Plan,
        clock: Clock,
    ):
        self._config, self._summaries, self._trainer = config, summaries, trainer
        self._checkpoints, self._state, self._evaluator = checkpoints, state, evaluator
        self._plan, self._clock = plan, clock
        self._steps_per_call = 1
        self._due = {
            "checkpoint": self._clock.seconds + _CHECKPOINT_SECONDS,
            "sample": max(_FIRST_SAMPLE_SECONDS, self._clock.seconds),
        }

    @property
    def step(self) -> int:
        """Steps done."""
        return int(self._trainer.step.numpy())

    @property
    def epoch(self) -> float:
        """Epochs done."""
        return self.step / self._trainer.recipe.steps_per_epoch

    @property
    def _steps_to_go(self) -> int:
        return self._plan.steps_to_go(self.step, self._clock.seconds)

    @property
    def _is_validation_due(self) -> bool:
        # Already done where a finished run is looked at again; outstanding where it was cut short.
        if int(self._state.validated_step.numpy()) == self.step:
            return False
        return self._plan.is_validation_due(self.step, self._clock.seconds)

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to train or to validate."""
        is_trained = self._out_of_patience() or not self._steps_to_go
        return is_trained and not self._is_validation_due

    def run(self, on_validation: OnValidation = always) -> None:
        """Trains to the end of the plan or until validation stopped getting better.

        Args:
            on_validation: Called after each validation; returns whether to continue. The checkpoint
                is written in either case.

        Raises:
            TrainingError: The loss is not finite any more. What was good stays.
            StorageError: The disk is full, or fails. What was good stays.
            KeyboardInterrupt: Ctrl-C or SIGTERM; a checkpoint was written.
        """
        with TrainingBar(self._plan_end(), self.step) as bar:
            try:
                while self._take_turn(on_validation, bar):
                    pass
            except KeyboardInterrupt:
                # Whatever came while it was saved has its wish: the run ends.
                with contextlib.suppress(KeyboardInterrupt):
                    self._save()
                raise
        if self._out_of_patience():
            best = int(self._state.best_step.numpy()) / self._trainer.recipe.steps_per_epoch
            print(
                f"Stopped early: no better validation "
                f"{formatting.LONG_TITLES[self._config.best_by]} in {self._config.patience} "
                f"validations. Best: epoch {best:g}."
            )

    def _take_turn(self, on_validation: OnValidation, bar: TrainingBar) -> bool:
        """Trains for about a second, then does what is due; returns whether to go on."""
        if not self._is_validation_due:
            if self._out_of_patience() or not (steps := self._steps_to_go):
                return False
            self._train_call(steps, bar)
            if not self._is_validation_due and self._is_due("sample", _SAMPLE_SECONDS):
                self._validate_sample(bar)
        # Asked after the sample, which may have used up the last of a budget.
        due = self._is_validation_due
        goes_on = not due or on_validation(self.epoch, self._validate(bar))
        # The first soon: a disk that does not take it shows now, and not after ten minutes.
        is_first = self._checkpoints.latest is None
        if due or is_first or self._is_due("checkpoint", _CHECKPOINT_SECONDS):
            self._save()
        return goes_on

    def _plan_end(self) -> int:
        """Returns the last step, and lets a decaying learning rate end there."""
        last_step = self._plan.last_step(self.step, self._clock.seconds)
        self._trainer.last_step.assign(max(last_step, 1))
        return last_step

    def _train_call(self, remaining: int, bar: TrainingBar) -> None:
        # Calls of equal length: the mean loss of a last call of a few steps would be a spike.
        num_steps = math.ceil(remaining / math.ceil(remaining / self._steps_per_call))
        start = self._clock.seconds
        progress = self._trainer.train(num_steps)
        seconds = self._clock.seconds - start
        self._plan.saw_steps(num_steps, seconds)
        if not progress.is_finite:
            raise TrainingError(
                self._describe_collapse(
                    f"these are not all finite: loss {progress.loss}, regularization "
                    f"{progress.regularization}, gradient norm {progress.gradient_norm}",
                    # The first step computes with the initial weights.
                    "init_scale" if self.step == 1 else "learning_rate",
                )
            )
        rate = num_steps * self._trainer.recipe.triples_per_step / seconds
        # At most twice as many as before: the first calls hold compilation and cold caches.
        wanted = round(num_steps * _SECONDS_PER_CALL / seconds)
        self._steps_per_call = int(np.clip(wanted, 1, 2 * self._steps_per_call))
        self._write(
            "train",
            {
                "loss": progress.loss,
                "regularization": progress.regularization,
                "gradient_norm": progress.gradient_norm,
                "learning_rate": float(self._trainer.optimizer.learning_rate.numpy()),
                "triples_per_second": rate,
            },
        )
        bar.advance(num_steps, self._plan_end(), self.epoch, progress.loss, rate)

    def _check_weights(self) -> None:
        """Raises TrainingError where what would be saved is not finite."""
        if not self._trainer.is_finite:
            raise TrainingError(self._describe_collapse("its weights are not all finite"))

    def _validate(self, bar: TrainingBar) -> dict[str, float]:
        self._check_weights()
        start = self._clock.seconds
        ranks = self._evaluator.rank(self._trainer.model, "valid")
        metrics = self._evaluator.summarize(ranks).metrics()
        self._summaries.write_validation(self._trainer.model, ranks, self.step)
        took = self._clock.seconds - start
        self._plan.saw_validation(self._clock.last, took)
        better = metrics[self._config.best_by] > self._state.best_value.numpy()
        # All of it or nothing: a validation that was cut short is done again.
        with uninterrupted():
            self._take_note(metrics, better, took)
        mark = "  best so far" if better else ""
        bar.write(f"epoch {self.epoch:g}  valid  {formatting.metric_line(metrics)}{mark}")
        return metrics

    def _take_note(self, metrics: Mapping[str, float], better: bool, took: float) -> None:
        if better:
            self._save_best()
            self._state.best_value.assign(metrics[self._config.best_by])
            self._state.best_step.assign(self.step)
        self._state.stale.assign(0 if better else self._state.stale + 1)
        self._state.validated_step.assign(self.step)
        self._state.validated_seconds.assign(self._clock.last)
        self._state.slowest_validation.assign(tf.maximum(self._state.slowest_validation, took))
        self._write("valid/all", metrics)

    def _save_best(self) -> None:
        run, model = self._summaries.run.path, self._trainer.model
        # The weights, then the archive that they go into.
        needed = sum(table.value.shape.num_elements() * 8 for table in model.trainable_variables)
        remedy = "The best model before is kept, if there was one. Make room, then go on with "
        with writing("the best model", run / BEST_MODEL, f"{remedy}--resume.", needed):
            save_best(model, run)

    def _validate_sample(self, bar: TrainingBar) -> None:
        results = self._evaluator.evaluate(
            self._trainer.model, "valid", max_triples=_SAMPLE_TRIPLES
        )
        metrics = results.metrics()
        self._write("valid_sample/all", metrics)
        # A smaller split is ranked whole.
        part = "SAMPLE of" if results.num_triples == _SAMPLE_TRIPLES else "all"
        bar.write(
            f"epoch {self.epoch:g}  valid {part} {results.num_triples} triples  "
            f"{formatting.metric_line(metrics)}"
        )

    def _out_of_patience(self) -> bool:
        return 0 < self._config.patience <= int(self._state.stale.numpy())

    def _is_due(self, event: str, period: float) -> bool:
        if self._clock.seconds < self._due[event]:
            return False
        self._due[event] = self._clock.seconds + period
        return True

    def _save(self) -> None:
        self._check_weights()
        # Not read anew: an interrupted worker is on its own.
        self._state.seconds.assign(self._clock.last)
        with uninterrupted():
            self._checkpoints.save()

    def _write(self, group: str, values: Mapping[str, float]) -> None:
        self._summaries.write(
            group, values, step=self.step, epoch=self.epoch, seconds=self._clock.seconds
        )

    def _describe_collapse(self, reason: str, cause: str = "learning_rate") -> str:
        last = self._checkpoints.latest
        kept = f"The last good checkpoint is {last}" if last else "There is no checkpoint yet"
        causes = [
            f"--{name}"
            for name in (cause, "l2", *REGULARIZERS, "relation_prediction")
            if getattr(self._config, name)
            and SETTINGS[name].is_read_by(self._config.recipe, self._config.model)
        ]
        return (
            f"Training stopped at step {self.step}, because {reason}. {kept}; nothing was written "
            f"after it. Start again in another --run_dir with a smaller {' or '.join(causes)}."
        )
