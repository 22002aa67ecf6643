"""Chooses settings by short runs: `quatre fit --auto`.

One setting after another is varied around the best values so far: the regularizer first, which
matters most, then learning rate, batch size and recipe. The short runs have few dimensions and
candidates, take equally long and are ranked on the same validation triples. They need less
regularization than long ones, so a few longer runs try heavier weights. In fewer than 15 epochs,
whatever learns fastest wins: on graphs too large for more, nothing is varied, the regularizer's
weight comes from the number of triples per entity, and queries with many answers are split. The
size comes last: the largest that leaves enough epochs in the rest of the time. Small graphs do not
need all of it; on them, the largest size is tried as well, because it is not always the best.
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
from trainers.training.memory import fits_in_memory, free_memory
from trainers.training.trainer import Trainer

# Of the budget, for choosing, and the number of runs that should fit into each half of it.
_SHARE = 1 / 3
_SHORT, _LONGER = 8, 3
_SHORT_DIM, _LONGER_DIM = 64, 128
_SHORT_CANDIDATES = 512
_SHORT_EPOCHS = 30
_COMPARABLE_EPOCHS = 15
# Of a query, where nothing is compared.
_MAX_ANSWERS = 4
# N3 is about this, divided by the train triples per entity, in the presets for graphs with few of
# them; none has less than the least or more than the most (docs/recipes.md).
_N3_OF_ONE_TRIPLE, _LEAST_N3, _MOST_N3 = 0.2, 0.005, 0.1
# The weights of longer runs are so many times the best of the short ones.
_HEAVIER = (1.0, 2.2, 4.8)
_VALIDATION_TRIPLES = 2000
_TIMED_SECONDS = 0.5
_PARTS = 4
_OF_SAMPLED = {"recipe", "num_candidates"}
# Of the run: the largest size that allows the least number of epochs, and not more epochs than
# small graphs need.
_DIMS = (128, 256, 512)
_LEAST_EPOCHS = 25
_MOST_EPOCHS = 200
_VALIDATE_EVERY = 10
# The largest size is tried if this many times the run's steps fit into the rest of the time: the
# trial, the run and its validations.
_WITH_TRIAL = 3.0


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
    # Each run traces a loop of its own, which TensorFlow would warn of as a mistake.
    tf.get_logger().setLevel("ERROR")
    seconds = 60 * _SHARE * config.budget_minutes
    print(f"Short runs, at most {seconds:.0f} s; validation MRR with", flush=True)
    search = _Search(fixed, config, graph, clock)
    search.run()
    chosen = search.run_config()
    defaults = dataclasses.asdict(config)
    changes = {
        name: value
        for name, value in dataclasses.asdict(chosen).items()
        # Without a budget the epochs say how long.
        if value != defaults[name] and name != "budget_minutes"
    }
    print(f"Chosen: {_text(changes) or 'the defaults'}", flush=True)
    if not chosen.budget_minutes:
        print(f"The run ends after {chosen.epochs} epochs, before the time is over.", flush=True)
    print(flush=True)
    return chosen


class _Search:
    """The best settings so far, for short runs.

    Args:
        fixed: As for `choose`.
        config: As for `choose`.
        graph: As for `choose`.
        clock: As for `choose`.
    """

    def __init__(
        self, fixed: Collection[str], config: TrainConfig, graph: Graph, clock: Callable[[], float]
    ):
        self._fixed, self._graph, self._clock = {*fixed}, graph, clock
        self._evaluator = Evaluator(graph, config.tie_policy, config.seed)
        self._best, self._value = self._sized(config, _SHORT_DIM), -math.inf
        self._may_regularize = not self._fixed & {*REGULARIZERS}
        if self._may_regularize:
            self._best = dataclasses.replace(self._best, n3=_typical_n3(config, graph))
        self._may_be_strong = config.recipe == "sampled" and not self._fixed & _OF_SAMPLED
        if self._may_be_strong and graph.num_entities <= config.num_candidates:
            # The same objective, without a sample.
            self._best = dataclasses.replace(self._best, recipe="strong")
        self._budget = 60.0 * config.budget_minutes
        self._end = _SHARE * self._budget / 2
        # Of a training: what it may take, how many epochs it has at most, and what one took.
        self._seconds, self._max_epochs = self._end / _SHORT, _SHORT_EPOCHS
        self._took = 0.0
        # Of the last training; and whether short runs were long enough to be compared.
        self._epochs, self._compares = 0.0, False
        # Of an epoch, by recipe, batch size and dimension.
        self._epoch_seconds: dict[tuple[str, int, int], float] = {}

    def run(self) -> None:
        """Tries what there is time for."""
        self._try(**({"n3": self._best.n3} if self._may_regularize else {}))
        for factor in (1 / 3, 1 / 9):
            if self._value == -math.inf:
                self._try(learning_rate=self._best.learning_rate * factor)
        self._compares = self._epochs >= _COMPARABLE_EPOCHS
        if not self._compares:
            number = f"{self._epochs:.0f}"
            print(f"Only {number} epochs fit into a short run: too few to compare.", flush=True)
            self._split_queries()
            return
        self._try_short()
        self._end = _SHARE * self._budget
        self._seconds = self._took = (self._end - self._clock()) / _LONGER
        self._max_epochs = _MOST_EPOCHS
        self._try_longer()

    def _sized(self, config: TrainConfig, dim: int) -> TrainConfig:
        if "embedding_dim" in self._fixed:
            return config
        return dataclasses.replace(config, embedding_dim=dim)

    def _split_queries(self) -> None:
        reads = SETTINGS["max_answers"].is_read_by(self._best.recipe, self._best.model)
        if reads and "max_answers" not in self._fixed:
            self._best = dataclasses.replace(self._best, max_answers=_MAX_ANSWERS)

    def _try_short(self) -> None:
        if self._may_regularize:
            self._choose_weight()
        for factor in (3.0, 1 / 3):
            if self._try(learning_rate=self._best.learning_rate * factor):
                break
        self._try(batch_size=250)
        if self._may_be_strong and self._best.recipe == "sampled":
            # The others take no more than the defaults, for which there is memory.
            strong = dataclasses.replace(self._best, recipe="strong")
            if fits_in_memory(strong, self._graph):
                self._try(recipe="strong")

    def run_config(self) -> TrainConfig:
        """Returns the best settings, with the size and length that there is time for.

        Where the run would end early, its size is tried first.
        """
        largest, epoch = self._sized(self._best, _SHORT_DIM), math.inf
        # Upwards: each size takes at least as long as the one before, and as much memory.
        for dim in (largest.embedding_dim,) if "embedding_dim" in self._fixed else _DIMS:
            config = self._sized(largest, dim)
            if not fits_in_memory(config, self._graph):
                break
            seconds = self._time_epoch(config)
            free_memory()
            if seconds * _LEAST_EPOCHS > self._budget - self._clock():
                break
            largest, epoch = config, seconds
        left, longest = self._budget - self._clock(), _MOST_EPOCHS * epoch
        if left <= longest:
            return largest
        if self._compares and left > _WITH_TRIAL * longest:
            self._seconds, self._took, self._end = longest, 0.0, self._budget
            self._try(embedding_dim=largest.embedding_dim)
            largest = self._best
        return dataclasses.replace(
            largest, budget_minutes=0.0, epochs=_MOST_EPOCHS, validate_every=_VALIDATE_EVERY
        )

    def _choose_weight(self) -> None:
        """Looks for the top of the curve over the logarithm of the weight."""
        if not self._best.n3 and not self._try(n3=0.01):
            return
        if not self._climb(3.0):
            self._climb(1 / 3)
        for factor in (1.7, 1 / 1.7):
            if self._try(n3=self._best.n3 * factor):
                break
        if SETTINGS["dura"].is_read_by(self._best.recipe, self._best.model):
            self._try(n3=0.0, dura=1.2 * self._best.n3)

    def _climb(self, factor: float) -> bool:
        """Multiplies the weight as long as that helps; returns whether it did."""
        weight = self._best.n3
        while self._try(n3=self._best.n3 * factor):
            pass
        return self._best.n3 != weight

    def _try_longer(self) -> None:
        """Tries heavier regularizers until one is worse."""
        name = "dura" if self._best.dura else "n3"
        weight = getattr(self._best, name)
        if not weight or name in self._fixed:
            return
        self._best, self._value = self._sized(self._best, _LONGER_DIM), -math.inf
        print(f"Longer ones, n = {self._best.embedding_dim}", flush=True)
        for factor in _HEAVIER:
            if not self._try(**{name: weight * factor}):
                return

    def _try(self, **changes: Any) -> bool:
        """Trains with changed settings; returns whether they are the best so far."""
        if self._clock() + self._took > self._end or self._fixed & changes.keys():
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
            value = -math.inf
        free_memory()
        self._took = max(self._took, self._clock() - started)
        is_better = value > self._value
        figure = "diverged" if value == -math.inf else f"{value:.4f}"
        mark = "  best so far" if is_better else ""
        print(f"  {_text(changes) or 'the defaults':32} {figure}{mark}", flush=True)
        if is_better:
            self._best, self._value = config, value
        return is_better

    def _train(self, config: TrainConfig) -> float:
        """Returns the validation MRR after a short training with a decaying learning rate."""
        if config.recipe == "sampled" and "num_candidates" not in self._fixed:
            few = min(config.num_candidates, _SHORT_CANDIDATES)
            config = dataclasses.replace(config, num_candidates=few)
        started = self._clock()
        trainer = Trainer(config, self._graph, tf.distribute.get_strategy())
        epoch = trainer.recipe.steps_per_epoch
        trainer.train(1)
        compiling = self._clock() - started
        kind = _kind(config)
        if kind not in self._epoch_seconds:
            self._epoch_seconds[kind] = epoch * _seconds_per_step(trainer, epoch, self._clock)
        # What is tried takes equally long, not equally many steps. Ranking is compiled as well.
        seconds = max(self._seconds - 2 * compiling, self._seconds / 3)
        self._epochs = min(seconds / self._epoch_seconds[kind], self._max_epochs)
        done = int(trainer.step.numpy())
        last = max(round(self._epochs * epoch), done + 1)
        trainer.last_step.assign(last)
        # In parts, so that Ctrl-C is answered.
        for part in np.array_split(np.arange(done, last), _PARTS):
            if part.size:
                trainer.train(part.size)
        results = self._evaluator.evaluate(trainer.model, "valid", max_triples=_VALIDATION_TRIPLES)
        return results.metrics()["mrr"]

    def _time_epoch(self, config: TrainConfig) -> float:
        """Returns the seconds of an epoch with the settings of the run."""
        trainer = Trainer(config, self._graph, tf.distribute.get_strategy())
        epoch = trainer.recipe.steps_per_epoch
        # Compiles.
        trainer.train(1)
        return epoch * _seconds_per_step(trainer, epoch, self._clock)


def _typical_n3(config: TrainConfig, graph: Graph) -> float:
    """Returns the weight of N3 to begin with: models that are not multilinear do best without."""
    if not SETTINGS["relation_prediction"].is_read_by(config.recipe, config.model):
        return 0.0
    weight = _N3_OF_ONE_TRIPLE * graph.num_entities / max(len(graph.train), 1)
    return float(f"{min(max(weight, _LEAST_N3), _MOST_N3):.2g}")


def _kind(config: TrainConfig) -> tuple[str, int, int]:
    return config.recipe, config.batch_size, config.embedding_dim


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
