"""The inner loop: many steps in one call."""

import dataclasses
from collections.abc import Iterator
from typing import cast

import keras
import numpy as np
import tensorflow as tf

from datasets.corruption import CorruptionMode
from datasets.graph import Graph
from datasets.pipeline import training_batches
from quatre_tf import QuatRE
from quatre_tf.optimizers import SparseAdagrad
from quatre_tf.sampled_logistic import SampledBatch, sampled_logistic_objective
from trainers.config import TrainConfig
from trainers.errors import ConfigError


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


class Trainer:
    """Model, optimizer and batches of a run, and the compiled loop over them.

    Attributes:
        model: The model, created in the strategy's scope.
        optimizer: Built on all its tables.
        step: int64 variable, the number of steps done; batch k is a pure function of (seed, k).
    """

    def __init__(self, config: TrainConfig, graph: Graph, strategy: tf.distribute.Strategy):
        self._config, self._graph, self._strategy = config, graph, strategy
        self.batch_size = _global_batch_size(config, graph, strategy)
        keras.utils.set_random_seed(config.seed)
        with strategy.scope():
            self.model = QuatRE(
                graph.num_entities, graph.num_relations, config.embedding_dim, config.variant
            )
            self.optimizer = SparseAdagrad(
                config.learning_rate, global_clipnorm=config.clip_norm or None
            )
            self.optimizer.build(self.model.trainable_variables)
            self.step = tf.Variable(0, dtype=tf.int64, name="step")
        self._iterator: Iterator | None = None

    def rewind(self) -> None:
        """Makes the next batch that of `step`; call it after a checkpoint was restored."""
        batches = training_batches(
            self._graph,
            batch_size=self.batch_size,
            num_negatives=self._config.num_negatives,
            corruption=cast("CorruptionMode", self._config.corruption),
            seed=self._config.seed,
            start=int(self.step.numpy()),
        )
        self._iterator = iter(self._strategy.experimental_distribute_dataset(batches))

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
        objective = sampled_logistic_objective(
            self.model,
            SampledBatch(**batch),
            l2=self._config.l2,
            num_triples=self.batch_size * (1 + self._config.num_negatives),
        )
        self.optimizer.apply(objective.gradients, self.model.trainable_variables)
        return objective.loss, objective.regularization


def _global_batch_size(config: TrainConfig, graph: Graph, strategy: tf.distribute.Strategy) -> int:
    """The configured batch, or the reference's |train| / 100, at least one triple a replica."""
    replicas = strategy.num_replicas_in_sync
    batch_size = config.batch_size or max(len(graph.train) // 100, replicas)
    if batch_size < replicas:
        raise ConfigError(
            f"--batch_size must be at least the number of replicas, {replicas}. "
            f"Received: {batch_size}."
        )
    return batch_size
