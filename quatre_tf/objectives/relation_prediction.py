"""Relation prediction, the auxiliary task of Chen et al. (AKBC 2021), and its gradient.

Given both entities of a triple, its relation is looked for among all: a softmax over relations.
Their scores are one product, because w can be taken out of the score:

    (e ⊗ w) · t = w · (conj(e) ⊗ t)

Every triple of the batch is asked about. One target a query, drawn at random and weighing as much
as all of them, has the same mean and is cheaper, but some queries have a thousand targets: what it
added in noise was more than the task is worth.
"""

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from quatre_tf.objectives.softmax_gradient import softmax_gradient
from quatre_tf.quaternion import as_quaternions, as_rows, conjugate, hamilton_product
from quatre_tf.sparse_rows import sum_rows

# Triples are filled up to a multiple: each number of them is compiled.
_MULTIPLE = 512


class RelationPrediction(NamedTuple):
    """The weighted sum of cross-entropies, and its gradient.

    Attributes:
        loss: Scalar.
        given: `[batch, 4n]`, the gradient of the entities given.
        targets: Ids `[num_triples]` and gradient rows `[num_triples, 4n]` of the targets.
        rotations: `[num_rotations, 4, n]`.
    """

    loss: tf.Tensor
    given: tf.Tensor
    targets: tuple[tf.Tensor, tf.Tensor]
    rotations: tf.Tensor


def predict_relations(
    tables: tuple[tf.Tensor, tf.Tensor],
    rows_of: Callable[[tf.Tensor], tf.Tensor],
    triples: tuple[tf.Tensor, tf.Tensor, tf.Tensor],
    weight: tf.Tensor,
    compute_dtype: tf.DType,
) -> RelationPrediction:
    """Returns the relation prediction of all triples of a batch of queries.

    Args:
        tables: `(given, rotations)`: the rows `[batch, 4n]` of the entities given, and
            `[num_rotations, 4, n]` of all queries that can be asked.
        rows_of: Returns the entity rows `[k, 4n]` of ids `[k]`.
        triples: `(rows, relations, targets)`, as of `QueryBatch`: the query `[num_triples]` of each
            triple, ascending; the rotation `[batch]` of each query; the entities `[num_triples]`.
        weight: Scalar, what the loss of each triple is multiplied by.
        compute_dtype: Of the matrix products.
    """
    given, rotations = tables
    rows, relations, targets = triples
    num_triples = tf.size(targets)
    padding = [[0, -num_triples % _MULTIPLE]]
    padded, weights = tf.pad(rows, padding), tf.pad(tf.fill([num_triples], weight), padding)
    heads, tails = tf.gather(given, padded), rows_of(tf.pad(targets, padding))

    pairs = _pair(heads, tails, compute_dtype)
    table = tf.cast(as_rows(rotations), compute_dtype)
    scores = tf.linalg.matmul(pairs, table, transpose_b=True)
    places = tf.stack([tf.range(tf.size(padded)), tf.gather(relations, padded)], axis=1)
    wanted = tf.cast(tf.gather_nd(scores, places), tf.float32)
    gradient, normalizers, _ = softmax_gradient(scores, 0.0, wanted, None, weights)
    at_wanted = weights * (tf.exp(wanted - normalizers) - 1.0)
    gradient = tf.tensor_scatter_nd_update(gradient, places, tf.cast(at_wanted, compute_dtype))
    head_gradient, tail_gradient = _take_back(heads, tails, tf.linalg.matmul(gradient, table))
    rotation_gradient = tf.cast(tf.linalg.matmul(gradient, pairs, transpose_a=True), tf.float32)
    return RelationPrediction(
        loss=tf.reduce_sum(weights * (normalizers - wanted)),
        given=sum_rows(head_gradient, rows, tf.shape(given)[0]),
        targets=(targets, tail_gradient[:num_triples]),
        rotations=tf.reshape(rotation_gradient, tf.shape(rotations)),
    )


@tf.function(jit_compile=True)
def _pair(heads: tf.Tensor, tails: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    """Returns `conj(e) ⊗ t` `[k, 4n]`."""
    pairs = hamilton_product(conjugate(as_quaternions(heads)), as_quaternions(tails))
    return tf.cast(as_rows(pairs), dtype)


@tf.function(jit_compile=True)
def _take_back(
    heads: tf.Tensor, tails: tf.Tensor, pair_gradient: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the gradients `[k, 4n]` of both entities: `t ⊗ conj(g)` and `e ⊗ g`."""
    gradient = as_quaternions(tf.cast(pair_gradient, tf.float32))
    return (
        as_rows(hamilton_product(as_quaternions(tails), conjugate(gradient))),
        as_rows(hamilton_product(as_quaternions(heads), gradient)),
    )
