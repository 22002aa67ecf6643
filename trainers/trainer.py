"""The inner loop: many steps in one call."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from datasets.graph import Graph
from datasets.pipeline import Share
from quatre_tf import QuatRE
from quatre_tf.optimizers import SparseAdagrad
from trainers.config import TrainConfig
from trainers.recipes import RECIPES


@dataclasses.dataclass(frozen=True)
class Progress:
    """What a call of `Trainer.train` saw: means over its steps, the gradient norm of the last."""

    loss: float
    regularization: float
    gradient_norm: float

    @property
    def is_finite(self) -> bool:
        """Whether training is sane: NaN or infinity anywhere shows in one of the three."""
        return bool(np.all(np.isfinite([self.loss, self.regularization, self.gradient_norm])))


class LinearDecay(keras.optimizers.schedules.LearningRateSchedule):
    """Goes from `learning_rate` at step 0 down to 0 at step `end`, a variable that may be moved."""

    def __init__(self, learning_rate: float, end: tf.Variable):
        super().__init__()
        self._learning_rate, self._end = learning_rate, end

    def __call__(self, step: Any) -> tf.Tensor:
        """Returns the learning rate of a step; of those past the end, that of the last."""
        step, end = tf.cast(step, tf.float32), tf.cast(self._end, tf.float32)
        return self._learning_rate * (1.0 - tf.minimum(step, end - 1.0) / end)

    def get_config(self) -> dict[str, Any]:
        """Returns the initial learning rate."""
        return {"learning_rate": self._learning_rate}


class Trainer:
    """Model, optimizer and batches of a run, and the compiled loop over them.

    Attributes:
        recipe: Batches and objective.
        model: The model, created in the strategy's scope.
        optimizer: Built on all its tables.
        step: int64 variable, the number of steps done; batch k is a pure function of (seed, k).
        last_step: int64 variable, where a decaying learning rate reaches 0.
    """

    def __init__(self, config: TrainConfig, graph: Graph, strategy: tf.distribute.Strategy):
        self._strategy = strategy
        self.recipe = RECIPES[config.recipe](config, graph, strategy.num_replicas_in_sync)
        keras.utils.set_random_seed(config.seed)
        with strategy.scope():
            self.last_step = tf.Variable(
                config.epochs * self.recipe.steps_per_epoch, dtype=tf.int64, trainable=False
            )
            self.model = _make_model(config, graph)
            self.optimizer = _make_optimizer(config, self.last_step)
            self.optimizer.build(self.model.trainable_variables)
            self.step = tf.Variable(0, dtype=tf.int64, name="step")
        self._batches = self.recipe.batches()
        self._iterator: Iterator | None = None

    def rewind(self) -> None:
        """Makes the next batch that of `step`; call it after a checkpoint was restored."""
        start, num_parts = int(self.step.numpy()), self._strategy.num_replicas_in_sync

        def dataset(context: tf.distribute.InputContext) -> tf.data.Dataset:
            # Elements go to the replicas of this process in their order.
            count = num_parts // context.num_input_pipelines
            share = Share(num_parts, context.input_pipeline_id * count, count)
            return self._batches.dataset(start, share)

        self._iterator = iter(self._strategy.distribute_datasets_from_function(dataset))

    def train(self, num_steps: int) -> Progress:
        """Takes `num_steps` optimizer steps in one call of a compiled loop."""
        if self._iterator is None:
            self.rewind()
        sums = self._train(self._iterator, tf.constant(num_steps, tf.int64))
        loss, regularization = (float(total) / num_steps for total in sums)
        return Progress(loss, regularization, float(self.optimizer.gradient_norm.numpy()))

    @tf.function(reduce_retracing=True)
    def _train(self, iterator: Iterator, num_steps: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        loss, regularization = tf.constant(0.0), tf.constant(0.0)
        for _ in tf.range(num_steps):
            losses = self._strategy.run(self._replica_step, (next(iterator),))
            summed = [self._strategy.reduce("SUM", value, axis=None) for value in losses]
            loss, regularization = loss + summed[0], regularization + summed[1]
        self.step.assign_add(num_steps)
        return loss, regularization

    def _replica_step(self, batch: dict[str, tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor]:
        objective = self.recipe.objective(self.model, batch)
        self.optimizer.apply(objective.gradients, self.model.trainable_variables)
        return objective.loss, objective.regularization


def _make_model(config: TrainConfig, graph: Graph) -> QuatRE:
    initializer: Any = "glorot_uniform"
    if config.init_scale:
        initializer = keras.initializers.RandomNormal(stddev=config.init_scale)
    return QuatRE(
        graph.num_entities,
        graph.num_relations,
        config.embedding_dim,
        config.variant,
        config.reciprocal,
        config.normalize_relations,
        initializer,
    )


def _make_optimizer(config: TrainConfig, last_step: tf.Variable) -> SparseAdagrad:
    learning_rate: Any = config.learning_rate
    if config.lr_decay == "linear":
        learning_rate = LinearDecay(config.learning_rate, last_step)
    return SparseAdagrad(learning_rate, global_clipnorm=config.clip_norm or None)
