"""The inner loop with parameter servers: sharded tables, asynchronous steps of workers."""

import numpy as np
import tensorflow as tf

from quatre_tf.data.graph import Graph
from quatre_tf.errors import ConfigError
from quatre_tf.keras_internals import Gradient
from quatre_tf.sharded_rows import shards_of
from trainers.training.config import TrainConfig
from trainers.training.signals import uninterrupted
from trainers.training.trainer import Progress, Trainer


class ServerTrainer(Trainer):
    """As `trainers.training.trainer.Trainer`, with the tables on parameter servers.

    A table that is large enough is a `ShardedVariable`: consecutive rows on each server, with the
    optimizer's slots. A step reads the rows that occur, on whichever worker is free, and sends
    their gradients back to the servers, which apply them: the table never crosses the network.
    Steps of different workers are not in step with one another: each sees the tables as it finds
    them. With one worker this is the synchronous run.

    The coordinator sends the NUMBER of a batch; the worker makes it. A lost worker's step is taken
    again by another one, with the same batch.

    Raises:
        ConfigError: The recipe reads the whole table at every step.
    """

    def __init__(
        self, config: TrainConfig, graph: Graph, strategy: tf.distribute.ParameterServerStrategy
    ):
        if config.recipe == "strong":
            raise ConfigError(
                "--recipe=strong scores all entities at every step, which would send the table "
                "through the network. Use --recipe=sampled with --strategy=parameter_server."
            )
        super().__init__(config, graph, strategy)
        self._coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)

    @property
    def _shards(self) -> list[list[tf.Variable]]:
        """The variables that hold the rows of each table, in their order."""
        tables = self.model.trainable_variables
        return [[shard for shard, _ in shards_of(table.value)] for table in tables]

    @property
    def _variables(self) -> list[tf.Variable]:
        return tf.nest.flatten(self._shards)

    @property
    def _slots(self) -> dict[str, list[tf.Variable]]:
        """What the optimizer remembers of each table, in shards as the table."""
        tables = [table.value for table in self.model.trainable_variables]
        return {
            name: [
                _joined(table, [self.optimizer.slots(shard)[name] for shard in shards])
                for table, shards in zip(tables, self._shards, strict=True)
            ]
            for name in self.optimizer.slots(self._shards[0][0])
        }

    def rewind(self) -> None:
        """Does nothing: the number of a step says which batch it has."""

    def train(self, num_steps: int) -> Progress:
        """Hands out `num_steps` steps to the workers and waits for them."""
        first = int(self.step.numpy())
        try:
            with uninterrupted():
                losses = [
                    self._coordinator.schedule(
                        self._train_step, args=(tf.constant(step, tf.int64),)
                    )
                    for step in range(first, first + num_steps)
                ]
            self._coordinator.join()
        except KeyboardInterrupt:
            # What is under way cannot be called back: it is done, and counted.
            self._coordinator.join()
            self.step.assign_add(num_steps)
            raise
        self.step.assign_add(num_steps)
        loss, regularization, gradient_norm = np.mean(self._coordinator.fetch(losses), axis=0)
        return Progress(float(loss), float(regularization), float(gradient_norm))

    @tf.function(autograph=False)
    def _train_step(self, step: tf.Tensor) -> tf.Tensor:
        # Made while tracing, so that the triples become part of the function, which is sent to a
        # worker once; as captured tensors they would be sent at every step.
        batches = self.recipe.batches()
        batch = batches.make(step, 0, batches.batch_size)
        return self._strategy.run(self._worker_step, (batch,))

    def _worker_step(self, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        objective = self.recipe.objective(self.model, batch)
        pairs = zip(objective.gradients, self._shards, strict=True)
        gradients = tf.nest.flatten([_split(gradient, shards) for gradient, shards in pairs])
        self.optimizer.apply(gradients, self._variables)
        norm = self.optimizer.gradient_norm.value
        return tf.stack([objective.loss, objective.regularization, norm])


def make_trainer(config: TrainConfig, graph: Graph, strategy: tf.distribute.Strategy) -> Trainer:
    """Returns the trainer that goes with a strategy."""
    if isinstance(strategy, tf.distribute.ParameterServerStrategy):
        return ServerTrainer(config, graph, strategy)
    return Trainer(config, graph, strategy)


def _split(gradient: Gradient, shards: list[tf.Variable]) -> list[Gradient]:
    """Returns the gradient of each shard: its rows, counted from its first one."""
    sizes = [int(shard.shape[0]) for shard in shards]
    if len(shards) == 1:
        return [gradient]
    if not isinstance(gradient, tf.IndexedSlices):
        return tf.split(gradient, sizes)
    starts = tf.constant(np.cumsum([0, *sizes[:-1]]), gradient.indices.dtype)
    owners = tf.searchsorted(starts, gradient.indices, side="right") - 1
    local = gradient.indices - tf.gather(starts, owners)
    indices = tf.dynamic_partition(local, owners, len(shards))
    values = tf.dynamic_partition(gradient.values, owners, len(shards))
    return [tf.IndexedSlices(v, i) for v, i in zip(values, indices, strict=True)]


def _joined(table: tf.Variable, slots: list[tf.Variable]) -> tf.Variable:
    """Returns slots in shards as their table is: a checkpoint holds each as one tensor."""
    # TensorFlow exports no name of the class.
    return slots[0] if len(slots) == 1 else type(table)(slots)
