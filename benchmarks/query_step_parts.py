"""Training steps of the softmax recipes, and what no implementation can do without.

Both have three bfloat16 matrix products: scores, gradient of the queries, gradient of the
candidates. The last is fed to the Adagrad kernel: densely where all entities are candidates, in
distinct rows where they are sampled.
"""

import numpy as np
import tensorflow as tf

from benchmarks.step_parts import Part, sparse_adagrad
from quatre_tf import QuatRE
from quatre_tf.objectives.candidate_softmax import candidate_softmax_objective
from quatre_tf.objectives.query_objective import QueryBatch, SoftmaxOptions
from quatre_tf.objectives.sampled_softmax import Candidates, sampled_softmax_objective
from quatre_tf.optimizers import SparseAdagrad

_OPTIONS = SoftmaxOptions(n3=0.05, compute_dtype=tf.bfloat16)


def strong_parts(
    num_entities: int, num_relations: int, dim: int, queries: int, targets: int
) -> dict[str, Part]:
    """Returns the step of the `strong` recipe, its products and one dense Adagrad pass.

    Args:
        num_entities: Number of entities.
        num_relations: Number of relations.
        dim: Quaternions per embedding.
        queries: Distinct queries per step.
        targets: Targets of all of them.
    """
    model, optimizer = _model_and_optimizer(num_entities, num_relations, dim)
    batch = _batch(num_entities, num_relations, queries, targets)
    table = model.entities.embeddings.value
    accumulator, gradient = tf.Variable(tf.ones_like(table)), tf.random.normal(table.shape)

    def step() -> tf.Tensor:
        objective = candidate_softmax_objective(model, batch, _OPTIONS, num_targets=float(targets))
        optimizer.apply(objective.gradients, model.trainable_variables)
        return objective.loss

    def dense_adagrad() -> tf.Tensor:
        tf.raw_ops.ResourceApplyAdagradV2(
            var=table.handle, accum=accumulator.handle, lr=0.1, epsilon=1e-10, grad=gradient
        )
        return tf.constant(0.0)

    products = _products(queries, num_entities, 4 * dim)
    return {"step": step, **products, "dense Adagrad": dense_adagrad}


def sampled_parts(
    num_entities: int, num_relations: int, dim: int, queries: int, targets: int, candidates: int
) -> dict[str, Part]:
    """Returns the step of the `sampled` recipe, its products, row gather and sparse Adagrad.

    Gathered are the rows of candidates, given entities and targets; updated are the distinct ones
    among them. Adding up the gradients of the others is not counted as unavoidable.

    Args:
        num_entities: Number of entities.
        num_relations: Number of relations.
        dim: Quaternions per embedding.
        queries: Distinct queries per step.
        targets: Targets of all of them.
        candidates: Entities that the queries are ranked among.
    """
    model, optimizer = _model_and_optimizer(num_entities, num_relations, dim)
    batch = _batch(num_entities, num_relations, queries, targets)
    drawn = np.sort(np.random.default_rng(1).permutation(num_entities)[:candidates])
    sampled = Candidates(tf.constant(drawn, tf.int32), _hits(drawn, batch))
    table = model.entities.embeddings.value
    ids = tf.concat([sampled.entities, batch.entities, batch.targets], axis=0)
    distinct = tf.unique(ids)[0]
    gradients = tf.random.normal([distinct.shape[0], 4 * dim], stddev=1e-6)

    def step() -> tf.Tensor:
        objective = sampled_softmax_objective(
            model, batch, sampled, _OPTIONS, num_targets=float(targets)
        )
        optimizer.apply(objective.gradients, model.trainable_variables)
        return objective.loss

    def gather() -> tf.Tensor:
        return tf.nn.embedding_lookup(table, ids)[0, 0]

    return {
        "step": step,
        **_products(queries, candidates, 4 * dim),
        "gather": gather,
        "sparse Adagrad": sparse_adagrad(
            table, tf.Variable(tf.ones_like(table)), distinct, gradients
        ),
    }


def _model_and_optimizer(
    num_entities: int, num_relations: int, dim: int
) -> tuple[QuatRE, SparseAdagrad]:
    initializer = tf.keras.initializers.RandomNormal(stddev=0.2)
    model = QuatRE(
        num_entities, num_relations, dim, "quatre", True, False, embeddings_initializer=initializer
    )
    optimizer = SparseAdagrad(0.1)
    optimizer.build(model.trainable_variables)
    return model, optimizer


def _batch(num_entities: int, num_relations: int, queries: int, targets: int) -> QueryBatch:
    rng = np.random.default_rng(0)

    def draw(bound: int) -> tf.Tensor:
        return tf.constant(rng.integers(0, bound, queries), tf.int32)

    rows = np.sort(
        np.concatenate([np.arange(queries), rng.integers(0, queries, targets - queries)])
    )
    return QueryBatch(
        draw(num_entities),
        draw(2 * num_relations),
        tf.constant(np.bincount(rows, minlength=queries), tf.int32),
        tf.constant(rows, tf.int32),
        # Distinct within a query, as long as none has as many as there are entities.
        tf.constant((np.arange(targets) * 7919) % num_entities, tf.int32),
    )


def _hits(drawn: np.ndarray, batch: QueryBatch) -> tf.Tensor:
    """Returns `[found, 2]` int32: (query, place) of the targets among the candidates drawn."""
    rows, targets = batch.rows.numpy(), batch.targets.numpy()
    found = np.isin(targets, drawn)
    places = np.searchsorted(drawn, targets[found])
    return tf.constant(np.stack([rows[found], places], axis=1), tf.int32)


def _products(queries: int, candidates: int, width: int) -> dict[str, Part]:
    """Returns the three bfloat16 products of a softmax over candidates."""

    def draw(*shape: int) -> tf.Tensor:
        return tf.cast(tf.random.normal(shape), tf.bfloat16)

    asked, rows, scores = draw(queries, width), draw(candidates, width), draw(queries, candidates)

    def part(left: tf.Tensor, right: tf.Tensor, **transposed: bool) -> Part:
        return lambda: tf.cast(tf.linalg.matmul(left, right, **transposed)[0, 0], tf.float32)

    return {
        "product: scores": part(asked, rows, transpose_b=True),
        "product: queries": part(scores, rows),
        "product: candidates": part(scores, asked, transpose_a=True),
    }
