"""The inner loop: many steps in one call."""

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from quatre_tf.accelerated import kernel
from quatre_tf.data.batches import Share
from quatre_tf.data.graph import Graph
from quatre_tf.errors import ConfigError
from quatre_tf.model import KGEModel, without_tables
from quatre_tf.optimizers import SparseAdagrad, SparseAdam, SparseOptimizer
from quatre_tf.sharded_rows import shards_of, there
from trainers.training.config import TrainConfig
from trainers.training.recipes import RECIPES


@dataclasses.dataclass(frozen=True)
class Progress:
    """What a call of `Trainer.train` saw: means over its steps, the gradient norm of the last."""

    loss: float
    regularization: float
    gradient_norm: float

    @property
    def is_finite(self) -> bool:
        """Whether all three are finite; they do not show what the last update did."""
        return bool(np.all(np.isfinite([self.loss, self.regularization, self.gradient_norm])))


class LinearDecay(keras.optimizers.schedules.LearningRateSchedule):
    """Stays at `learning_rate` for a share of training, then goes down to 0 at step `end`.

    `end` is a variable that may be moved.
    """

    def __init__(self, learning_rate: float, end: tf.Variable, constant_share: float = 0.0):
        super().__init__()
        self._learning_rate, self._end = learning_rate, end
        self._constant_share = constant_share

    def __call__(self, step: Any) -> tf.Tensor:
        """Returns the learning rate of a step; past the end, the last one."""
        step, end = tf.cast(step, tf.float32), tf.cast(self._end, tf.float32)
        remaining = 1.0 - tf.minimum(step, end - 1.0) / end
        return self._learning_rate * tf.minimum(remaining / (1.0 - self._constant_share), 1.0)

    def get_config(self) -> dict[str, Any]:
        """Returns the initial learning rate and for how long it stays."""
        return {"learning_rate": self._learning_rate, "constant_share": self._constant_share}


class Trainer:
    """Model, optimizer and batches of a run, and the compiled loop over them.

    Attributes:
        recipe: Batches and objective.
        model: Created in the strategy's scope.
        optimizer: Built on all tables of the model.
        step: int64 variable, the number of steps done; batch k is a pure function of (seed, k).
        last_step: int64 variable, where a decaying learning rate reaches 0.
    """

    def __init__(self, config: TrainConfig, graph: Graph, strategy: tf.distribute.Strategy):
        self._strategy = strategy
        keras.utils.set_random_seed(config.seed)
        with strategy.scope():
            self.recipe = RECIPES[config.recipe](config, graph, strategy.num_replicas_in_sync)
            self.last_step = tf.Variable(
                config.epochs * self.recipe.steps_per_epoch, dtype=tf.int64, trainable=False
            )
            self.model = make_model(config, graph)
            self.optimizer = _make_optimizer(config, self.last_step)
            self.optimizer.build(self._variables)
            self.step = tf.Variable(0, dtype=tf.int64, name="step")
        self._iterator: Iterator | None = None

    @property
    def has_compiled_updates(self) -> bool:
        """Whether tables are updated by the compiled operation.

        Raises:
            quatre_tf.accelerated.kernel.KernelError: It was built and cannot be loaded.
        """
        # In the scope, because parameter servers do not use it.
        with self._strategy.scope():
            return isinstance(self.optimizer, SparseAdagrad) and kernel.operations() is not None

    @property
    def _variables(self) -> list[Any]:
        """What the optimizer updates, in the order of the model's tables."""
        return self.model.trainable_variables

    @property
    def state(self) -> dict[str, Any]:
        """What a checkpoint holds: tables, slots and statistics, in the order of the model.

        The same under every strategy, so that a checkpoint of one restores under another.
        """
        return {
            "tables": [table.value for table in self.model.trainable_variables],
            "optimizer": self._slots,
            "statistics": [value.value for value in self.model.non_trainable_variables],
            "iterations": self.optimizer.iterations.value,
            "step": self.step,
        }

    @property
    def _slots(self) -> dict[str, list[tf.Variable]]:
        """What the optimizer remembers of each table, by the name of the slot."""
        found = [self.optimizer.slots(table) for table in self._variables]
        return {name: [slots[name] for slots in found] for name in found[0]}

    @property
    def is_finite(self) -> bool:
        """Whether a checkpoint would hold finite numbers only: one sum per variable shows it."""
        variables = tf.nest.flatten(self.state)
        shards = [shard for variable in variables for shard, _ in shards_of(variable)]
        sums = [there(tf.reduce_sum, shard).numpy() for shard in shards]
        return bool(np.all(np.isfinite(sums)))

    def rewind(self) -> None:
        """Continues with batch `step`; call it after a checkpoint was restored."""
        start, num_parts = int(self.step.numpy()), self._strategy.num_replicas_in_sync
        batches = self.recipe.batches()

        def dataset(context: tf.distribute.InputContext) -> tf.data.Dataset:
            # Elements go to the replicas of this process in their order.
            count = num_parts // context.num_input_pipelines
            share = Share(num_parts, context.input_pipeline_id * count, count)
            return batches.dataset(start, share)

        self._iterator = iter(self._strategy.distribute_datasets_from_function(dataset))

    def train(self, num_steps: int) -> Progress:
        """Takes `num_steps` optimizer steps in one call of a compiled loop."""
        if self._iterator is None:
            self.rewind()
        calls = [num_steps]
        if isinstance(self._strategy, tf.distribute.MultiWorkerMirroredStrategy):
            # In a compiled loop a collective op keeps the shapes of its first turn; sparse
            # gradients have as many rows as occur.
            calls = [1] * num_steps
        sums = [self._train(self._iterator, tf.constant(count, tf.int64)) for count in calls]
        loss, regularization = np.sum(sums, axis=0) / num_steps
        return Progress(
            float(loss), float(regularization), float(self.optimizer.gradient_norm.numpy())
        )

    @tf.function(reduce_retracing=True, autograph=False)
    def _train(self, iterator: Iterator, num_steps: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        def take_step(
            step: tf.Tensor, loss: tf.Tensor, regularization: tf.Tensor
        ) -> tuple[tf.Tensor, ...]:
            losses = self._strategy.run(self._replica_step, (next(iterator),))
            summed = [self._strategy.reduce("SUM", value, axis=None) for value in losses]
            return step + 1, loss + summed[0], regularization + summed[1]

        start = tf.constant(0, tf.int64), tf.constant(0.0), tf.constant(0.0)
        _, loss, regularization = tf.while_loop(lambda step, *_: step < num_steps, take_step, start)
        self.step.assign_add(num_steps)
        return loss, regularization

    def _replica_step(self, batch: dict[str, tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor]:
        objective = self.recipe.objective(self.model, batch)
        self.optimizer.apply(objective.gradients, self._variables)
        return objective.loss, objective.regularization


def make_model(config: TrainConfig, graph: Graph) -> KGEModel:
    """Returns the model that the settings describe, with initial values.

    Raises:
        ConfigError: The model's own settings do not fit it.
    """
    with _refusing(config):
        return KGEModel(**_model_arguments(config, graph))


def outline(config: TrainConfig, graph: Graph) -> KGEModel:
    """Returns the model that the settings describe, without tables.

    Raises:
        ConfigError: As for `make_model`.
    """
    with _refusing(config):
        model = without_tables(KGEModel, _model_arguments(config, graph))
        # Where some score functions check their sizes.
        model.score_function.weight_shapes()
        return model


@contextlib.contextmanager
def _refusing(config: TrainConfig) -> Iterator[None]:
    """Names the model in the error about settings that it refuses."""
    try:
        yield
    except ValueError as error:
        raise ConfigError(f"--model={config.model}: {error}") from error


def check_model(config: TrainConfig, graph: Graph) -> None:
    """Raises ConfigError if a model refuses its settings, or cannot learn heads with them."""
    if not outline(config, graph).has_head_queries:
        raise ConfigError(
            f"--model={config.model} learns heads through reciprocal relations only. Use "
            "--reciprocal with --recipe=sampled, strong or self_adversarial. Received: "
            f"--recipe={config.recipe} --reciprocal={str(config.reciprocal).lower()}."
        )


def _model_arguments(config: TrainConfig, graph: Graph) -> dict[str, Any]:
    """Returns the arguments of `KGEModel` that the settings stand for."""
    initializer: Any = "glorot_uniform"
    if config.init_scale:
        initializer = keras.initializers.RandomNormal(stddev=config.init_scale)
    return {
        "num_entities": graph.num_entities,
        "num_relations": graph.num_relations,
        "embedding_dim": config.embedding_dim,
        "score_function": config.model,
        "reciprocal": config.reciprocal,
        "embeddings_initializer": initializer,
        "options": config.model_options,
    }


def _make_optimizer(config: TrainConfig, last_step: tf.Variable) -> SparseOptimizer:
    learning_rate: Any = config.learning_rate
    if config.lr_decay != "none":
        share = 0.6 if config.lr_decay == "late" else 0.0
        learning_rate = LinearDecay(config.learning_rate, last_step, share)
    optimizer = SparseAdam if config.optimizer == "adam" else SparseAdagrad
    return optimizer(learning_rate, global_clipnorm=config.clip_norm or None)
