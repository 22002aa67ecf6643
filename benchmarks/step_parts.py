"""The training step of the `paper` recipe, and what no implementation can do without."""

import os
import unittest.mock
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import tensorflow as tf

from quatre_tf import QuatRE
from quatre_tf.objectives.sampled_logistic import (
    SampledBatch,
    compiled_operation,
    sampled_logistic_objective,
)
from quatre_tf.optimizers import SparseAdagrad

# Returns a scalar, after its work.
Part: TypeAlias = Callable[[], tf.Tensor]


def paper_parts(
    num_entities: int, num_relations: int, dim: int, positives: int, negatives: int
) -> dict[str, Part]:
    """Returns the step of the `paper` recipe and its unavoidable parts.

    They are gathering the entity rows of the batch, adding up as many gradient rows by entity, and
    TensorFlow's sparse Adagrad kernel on the distinct rows. Where the step is compiled, the one of
    TensorFlow's operations comes beside it.

    Args:
        num_entities: Number of entities.
        num_relations: Number of relations.
        dim: Quaternions per embedding.
        positives: Triples per step.
        negatives: Corrupted triples for each.
    """
    rng = np.random.default_rng(0)

    def draw(bound: int, *shape: int) -> tf.Tensor:
        return tf.constant(rng.integers(0, bound, shape), tf.int32)

    model = QuatRE(num_entities, num_relations, dim)
    optimizer = SparseAdagrad(0.1, global_clipnorm=0.5)
    optimizer.build(model.trainable_variables)
    batch = SampledBatch(
        draw(num_entities, positives),
        draw(num_relations, positives),
        draw(num_entities, positives),
        draw(num_entities, positives, negatives),
        tf.constant(rng.random((positives, negatives)) < 0.5),
    )

    def step() -> tf.Tensor:
        objective = sampled_logistic_objective(
            model, batch, l2=0.5, num_triples=positives * (1 + negatives)
        )
        optimizer.apply(objective.gradients, model.trainable_variables)
        return objective.loss

    def plain_step() -> tf.Tensor:
        # Looked at while the step is traced.
        with unittest.mock.patch.dict(os.environ, QUATRE_ENABLE_KERNEL="0"):
            return step()

    steps = {"step": step}
    if compiled_operation() is not None:
        steps["step, not compiled"] = plain_step
    ids = tf.concat([batch.heads, batch.tails, tf.reshape(batch.corrupted, [-1])], axis=0)
    unique_ids, index = tf.unique(ids)
    order = tf.argsort(index)
    sorted_index = tf.gather(index, order)
    row_gradients = tf.random.normal([ids.shape[0], 4 * dim], stddev=1e-6)
    unique_gradients = tf.random.normal([unique_ids.shape[0], 4 * dim], stddev=1e-6)
    table = model.entities.embeddings.value
    accumulator = tf.Variable(tf.zeros_like(table))

    def gather() -> tf.Tensor:
        return tf.nn.embedding_lookup(table, ids)[0, 0]

    def segment_sum() -> tf.Tensor:
        # Sorted first: quicker than tf.math.unsorted_segment_sum, which has one thread.
        return tf.math.segment_sum(tf.gather(row_gradients, order), sorted_index)[0, 0]

    return {
        **steps,
        "gather": gather,
        "segment sum": segment_sum,
        "sparse Adagrad": sparse_adagrad(table, accumulator, unique_ids, unique_gradients),
    }


def sparse_adagrad(
    table: tf.Variable, accumulator: tf.Variable, ids: tf.Tensor, gradients: tf.Tensor
) -> Part:
    """Returns TensorFlow's kernel on distinct rows."""

    def part() -> tf.Tensor:
        tf.raw_ops.ResourceSparseApplyAdagradV2(
            var=table.handle,
            accum=accumulator.handle,
            lr=0.1,
            epsilon=1e-10,
            grad=gradients,
            indices=ids,
        )
        return tf.constant(0.0)

    return part
