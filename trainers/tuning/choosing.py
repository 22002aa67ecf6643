"""Chooses the settings of a run by short trainings: `quatre fit --auto`.

One setting after another is varied around the best values so far: the regularizer first, which
matters most, then learning rate, batch size and recipe. The trainings are small, take equally long
and are ranked on the same validation triples. The size comes last: the largest that leaves enough
epochs in the rest of the time.
"""

import dataclasses
import math
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from quatre_tf.data.graph import Graph
from quatre_tf.errors import TrainingError
from quatre_tf.ranking.evaluator import Evaluator
from trainers.training.config import REGULARIZERS, SETTINGS, TrainConfig
from trainers.training.trainer import Trainer
from trainers.tuning.search import free_memory

# Of the budget, for choosing; about so many trainings fit into it.
_SHARE = 1 / 3
_TRIALS = 12
_TRIAL_DIM = 64
# Fewer epochs say little about settings; with more of them small graphs only lose time.
_MAX_TRIAL_EPOCHS = 30
_VALIDATION_TRIPLES = 2000
_TIMED_SECONDS = 0.5
_PARTS = 4
_OF_SAMPLED = {"recipe", "num_candidates"}
# Of the run: the largest size that allows the least number of epochs, and not more epochs than
# small graphs need.
_DIMS = (512, 256, 128)
_LEAST_EPOCHS = 25
_MOST_EPOCHS = 200
_VALIDATE_EVERY = 10


def choose(
    fixed: Collection[str], config: TrainConfig, graph: Graph, clock: Callable[[], float]
) -> TrainConfig:
    """Returns the settings of a run for the rest of the time, and prints what was tried.

    Args:
        fixed: Names of settings that keep their values.
        config: The defaults; `budget_minutes` is the time for choosing and for the run.
        graph: The graph.
        clock: Returns the seconds since that time began.
    """
    seconds = 60 * _SHARE * config.budget_minutes
    print(f"Short trainings, at most {seconds:.0f} s; validation MRR with", flush=True)
    search = _Search(fixed, config, graph, clock)
    search.run()
    chosen = search.run_config()
    names = [field.name for field in dataclasses.fields(config)]
    values = {name: getattr(chosen, name) for name in names}
    changes = {name: value for name, value in values.items() if value != getattr(config, name)}
    print(f"Chosen: {_text(changes) or 'the defaults'}\n", flush=True)
    return chosen


class _Search:
    """The best settings so far, for small trainings.

    Args:
        fixed: As for `choose`.
        config: As for `choose`.
        graph: As for `choose`.
        clock: As for `choose`.
    """

    def __init__(
        self, fixed: Collection[str], config: TrainConfig, graph: Graph, clock: Callable[[], float]
    ):
        self._start, self._fixed, self._graph, self._clock = config, {*fixed}, graph, clock
        self._evaluator = Evaluator(graph, config.tie_policy, config.seed)
        self._best, self._value = config, -math.inf
        if "embedding_dim" not in fixed:
            self._best = dataclasses.replace(config, embedding_dim=_TRIAL_DIM)
        self._may_be_strong = config.recipe == "sampled" and not self._fixed & _OF_SAMPLED
        if self._may_be_strong and graph.num_entities <= config.num_candidates:
            # The same objective, without a sample.
            self._best = dataclasses.replace(self._best, recipe="strong")
        self._budget = 60.0 * config.budget_minutes
        # Of an epoch, by recipe and batch size.
        self._epoch_seconds: dict[tuple[str, int], float] = {}
        self._trial_seconds = 0.0

    def run(self) -> None:
        """Tries what there is time for."""
        if not self._fixed & {*REGULARIZERS}:
            self._choose_weight()
        for factor in (3.0, 1 / 3):
            if self._try(learning_rate=self._best.learning_rate * factor):
                break
        self._try(batch_size=250)
        if self._may_be_strong and self._best.recipe == "sampled":
            self._try(recipe="strong")

    def run_config(self) -> TrainConfig:
        """Returns the best settings, with the size and length that there is time for."""
        best, seconds = self._best, self._budget - self._clock()
        length = self._epoch_seconds.get((best.recipe, best.batch_size), 0.0)
        dim = self._start.embedding_dim
        if length and "embedding_dim" not in self._fixed:
            fitting = (d for d in _DIMS if length * d / _TRIAL_DIM * _LEAST_EPOCHS <= seconds)
            dim = next(fitting, _TRIAL_DIM)
        length *= dim / best.embedding_dim
        best = dataclasses.replace(best, embedding_dim=dim)
        if length and seconds > _MOST_EPOCHS * length:
            best = dataclasses.replace(
                best, budget_minutes=0.0, epochs=_MOST_EPOCHS, validate_every=_VALIDATE_EVERY
            )
        return best

    def _choose_weight(self) -> None:
        """Looks for the top of the curve over the logarithm of the weight."""
        if not SETTINGS["relation_prediction"].is_read_by(self._best.recipe, self._best.model):
            self._try(n3=0.0)
        self._try(n3=0.01)
        if self._try(n3=0.05):
            self._try(n3=0.2)
        else:
            self._try(n3=0.002)
        weight = self._best.n3
        for factor in (2.2, 1 / 2.2):
            self._try(n3=weight * factor)
        self._try(n3=0.0, dura=1.2 * self._best.n3)

    def _try(self, **changes: Any) -> bool:
        """Trains with changed settings; returns whether they are the best so far."""
        over = self._clock() + self._trial_seconds > _SHARE * self._budget
        if over or self._fixed & changes.keys():
            return False
        changes = {
            name: float(f"{value:.2g}") if isinstance(value, float) else value
            for name, value in changes.items()
        }
        config = dataclasses.replace(self._best, **changes)
        started = self._clock()
        try:
            value = self._train(config)
        except TrainingError:
            value = 0.0
        free_memory()
        self._trial_seconds = max(self._trial_seconds, self._clock() - started)
        is_better = value > self._value
        mark = "  best so far" if is_better else ""
        print(f"  {_text(changes):32} {value:.4f}{mark}", flush=True)
        if is_better:
            self._best, self._value = config, value
        return is_better

    def _train(self, config: TrainConfig) -> float:
        """Returns the validation MRR after a short training with a decaying learning rate."""
        started = self._clock()
        trainer = Trainer(config, self._graph, tf.distribute.get_strategy())
        epoch = trainer.recipe.steps_per_epoch
        trainer.train(1)
        compiling = self._clock() - started
        kind = (config.recipe, config.batch_size)
        if kind not in self._epoch_seconds:
            self._epoch_seconds[kind] = epoch * _seconds_per_step(trainer, epoch, self._clock)
        # What is tried takes equally long, not equally many steps. Ranking is compiled as well.
        trial = _SHARE * self._budget / _TRIALS
        seconds = max(trial - 2 * compiling, trial / 3)
        epochs = min(seconds / self._epoch_seconds[kind], _MAX_TRIAL_EPOCHS)
        done = int(trainer.step.numpy())
        last = max(round(epochs * epoch), done + 1)
        trainer.last_step.assign(last)
        # In parts, so that Ctrl-C is answered.
        for part in np.array_split(np.arange(done, last), _PARTS):
            if part.size:
                trainer.train(part.size)
        results = self._evaluator.evaluate(trainer.model, "valid", max_triples=_VALIDATION_TRIPLES)
        return results.metrics()["mrr"]


def _seconds_per_step(trainer: Trainer, epoch: int, clock: Callable[[], float]) -> float:
    """Times steps, which count as training: more and more of them, two epochs at most."""
    steps = 1
    while True:
        started = clock()
        trainer.train(steps)
        seconds = clock() - started
        if seconds >= _TIMED_SECONDS or 2 * steps > epoch:
            return seconds / steps
        steps *= 2


def _text(settings: Mapping[str, Any]) -> str:
    values = (f"{value:g}" if isinstance(value, float) else value for value in settings.values())
    return " ".join(f"--{name}={value}" for name, value in zip(settings, values, strict=True))
