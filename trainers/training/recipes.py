"""Recipes: the batches and the objective of a training step."""

import functools
from collections.abc import Callable
from typing import cast

import tensorflow as tf

from quatre_tf.data.batches import Batches, TripleBatches
from quatre_tf.data.graph import Graph
from quatre_tf.data.negatives import CorruptionMode
from quatre_tf.data.query_batches import QueryBatches, count_queries
from quatre_tf.errors import ConfigError
from quatre_tf.model import KGEModel
from quatre_tf.objectives.candidate_softmax import candidate_softmax_objective
from quatre_tf.objectives.objective import Objective
from quatre_tf.objectives.query_objective import QueryBatch, SoftmaxOptions
from quatre_tf.objectives.sampled_candidates import sampled_objective
from quatre_tf.objectives.sampled_logistic import (
    SampledBatch,
    sampled_logistic_objective,
)
from quatre_tf.objectives.sampled_softmax import cross_entropy
from quatre_tf.objectives.self_adversarial import self_adversarial
from trainers.training.config import TrainConfig

_QUERIES_PER_STEP = 1000


class PaperRecipe:
    """As the reference implementation: `quatre_tf.objectives.sampled_logistic`.

    Attributes:
        steps_per_epoch: Steps that are called an epoch.
        triples_per_step: Training triples that a step learns from, on average.
        description: What a step holds, for people.
    """

    def __init__(self, config: TrainConfig, graph: Graph, num_replicas: int):
        self._config, self._graph = config, graph
        self._batch_size = config.batch_size or max(len(graph.train) // 100, num_replicas)
        _check_enough(self._batch_size, num_replicas)
        self.steps_per_epoch = config.steps_per_epoch
        self.triples_per_step = float(self._batch_size)
        self.description = f"{self._batch_size} positives x {config.num_negatives} negatives"

    def batches(self) -> Batches:
        """Returns the batches of training; each is for all replicas together."""
        return TripleBatches(
            self._graph,
            batch_size=self._batch_size,
            num_negatives=self._config.num_negatives,
            corruption=cast("CorruptionMode", self._config.corruption),
            seed=self._config.seed,
        )

    def objective(self, model: KGEModel, batch: dict[str, tf.Tensor]) -> Objective:
        """Returns the objective of a replica's batch; they add up over the replicas."""
        return sampled_logistic_objective(
            model,
            SampledBatch(**batch),
            l2=self._config.l2,
            num_triples=self._batch_size * (1 + self._config.num_negatives),
        )


class QueryRecipe:
    """A softmax or RotatE's loss over distinct queries with all their answers.

    `strong` has all entities as candidates (`quatre_tf.objectives.candidate_softmax`), the others a
    sample (`sampled_softmax` and `self_adversarial`). Attributes are those of `PaperRecipe`.
    """

    def __init__(self, config: TrainConfig, graph: Graph, num_replicas: int):
        self._graph, self._seed, self._max_answers = graph, config.seed, config.max_answers
        num_queries, num_targets = count_queries(graph, config.max_answers)
        # As many as there are, if there are fewer.
        self._batch_size = min(config.batch_size or _QUERIES_PER_STEP, num_queries)
        _check_enough(self._batch_size, num_replicas)
        self._options = SoftmaxOptions(
            n3=config.n3,
            dura=config.dura,
            opposite_dura=config.opposite_dura,
            query_dropout=config.query_dropout,
            relation_prediction=config.relation_prediction,
            compute_dtype=tf.as_dtype(config.compute_dtype),
        )
        self._objective: Callable[..., Objective] = candidate_softmax_objective
        self._num_candidates, candidates = 0, f"{graph.num_entities:,}"
        if config.recipe != "strong":
            self._num_candidates = min(config.num_candidates, graph.num_entities)
            candidates = f"{self._num_candidates:,} sampled"
            losses = {
                "sampled": functools.partial(cross_entropy, num_entities=graph.num_entities),
                "self_adversarial": functools.partial(
                    self_adversarial, margin=config.margin, temperature=config.temperature
                ),
            }
            self._objective = functools.partial(sampled_objective, loss=losses[config.recipe])
        self.steps_per_epoch = config.steps_per_epoch or num_queries // self._batch_size
        self._targets_per_step = num_targets / num_queries * self._batch_size
        # Each triple is a target twice, as a tail and as a head.
        self.triples_per_step = self._targets_per_step / 2
        at_most = f" of at most {config.max_answers:,} answers" * (config.max_answers > 0)
        self.description = f"{self._batch_size:,} queries{at_most} x {candidates} candidates"

    def batches(self) -> Batches:
        """Returns the batches of training; each is for all replicas together."""
        return QueryBatches(
            self._graph,
            batch_size=self._batch_size,
            num_candidates=self._num_candidates,
            max_answers=self._max_answers,
            seed=self._seed,
        )

    def objective(self, model: KGEModel, batch: dict[str, tf.Tensor]) -> Objective:
        """Returns the objective of a replica's batch; they add up over the replicas."""
        return self._objective(
            model, QueryBatch(**batch), self._options, num_targets=self._targets_per_step
        )


def _check_enough(batch_size: int, num_replicas: int) -> None:
    if batch_size < num_replicas:
        raise ConfigError(
            f"--batch_size must be at least the number of replicas, {num_replicas}. "
            f"Received: {batch_size}."
        )


Recipe = PaperRecipe | QueryRecipe
RECIPES: dict[str, Callable[[TrainConfig, Graph, int], Recipe]] = {
    "paper": PaperRecipe,
    **dict.fromkeys(("strong", "sampled", "self_adversarial"), QueryRecipe),
}
