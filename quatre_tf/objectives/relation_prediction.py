"""Relation prediction, the auxiliary task of Chen et al. (AKBC 2021), and its gradient.

Given both entities of a triple, its relation is predicted: a softmax over all relations. A
multilinear score is a dot product with the folded relation, so the scores of all relations are one
matrix product: of the folded table with the derivative of the score by the folded relation.

Every triple of the batch takes part. One target a query, drawn at random and weighing as much as
all of them, has the same mean and is cheaper, but some queries have a thousand targets: the noise
was worth more than the task.
"""

from collections.abc import Callable

import tensorflow as tf

from quatre_tf.layers.score_function import ScoreFunction
from quatre_tf.objectives.compiled_queries import MULTIPLE, end_gradients, relation_derivatives
from quatre_tf.objectives.softmax_gradient import softmax_gradient
from quatre_tf.sparse_rows import sum_rows


def predict_relations(
    function: ScoreFunction,
    entities: tf.Tensor,
    tables: tuple[tf.Tensor, tf.Tensor],
    rows_of: Callable[[tf.Tensor], tf.Tensor],
    triples: tuple[tf.Tensor, tf.Tensor, tf.Tensor | None, tf.Tensor],
    weight: tf.Tensor,
    compute_dtype: tf.DType,
) -> tuple[tf.Tensor, list[tuple[tf.Tensor, tf.Tensor]], tf.Tensor]:
    """Returns the weighted sum of cross-entropies of all triples of a batch, and its gradient.

    Args:
        function: The score function.
        entities: `[batch]`, the given entities.
        tables: `(given, folded)`: the rows `[batch, width]` of the given entities, and all folded
            relations `[num_folded, width]`.
        rows_of: Returns the entity rows `[k, width]` of ids `[k]`.
        triples: `(rows, relations, is_head, targets)`, as of `QueryBatch`: the query
            `[num_triples]` of each triple, ascending; the folded relation `[batch]` of each query;
            whether it asks for heads `[batch]`, None for no query; the entities `[num_triples]`.
        weight: Scalar, what the loss of each triple is multiplied by.
        compute_dtype: Of the matrix products.

    Returns:
        A scalar; pairs of entity ids `[k]` and gradient rows `[k, width]`; and the gradient of
        `folded`.

    Raises:
        ValueError: The score function is not multilinear.
    """
    if not function.multilinear:
        raise ValueError(
            f"Relations are predicted by multilinear score functions only. Received: "
            f"{type(function).__name__}. Use relation_prediction=0."
        )
    given, folded = tables
    rows, relations, is_head, targets = triples
    num_triples = tf.size(targets)
    padding = [[0, -num_triples % MULTIPLE]]
    padded, weights = tf.pad(rows, padding), tf.pad(tf.fill([num_triples], weight), padding)
    ends = tf.gather(given, padded), rows_of(tf.pad(targets, padding))
    swapped = None if is_head is None else tf.gather(is_head, padded)[:, tf.newaxis]
    heads, tails = _swap(*ends, swapped)
    # Widths are static, as compiled functions want them.
    pairs = tf.cast(relation_derivatives(function, heads, tails, folded.shape[1]), compute_dtype)
    table = tf.cast(folded, compute_dtype)
    scores = tf.linalg.matmul(pairs, table, transpose_b=True)
    places = tf.stack([tf.range(tf.size(padded)), tf.gather(relations, padded)], axis=1)
    wanted = tf.cast(tf.gather_nd(scores, places), tf.float32)
    gradient, normalizers = softmax_gradient(scores, 0.0, wanted, None, weights)
    at_wanted = weights * (tf.exp(wanted - normalizers) - 1.0)
    gradient = tf.tensor_scatter_nd_update(gradient, places, tf.cast(at_wanted, compute_dtype))
    pair_gradient = tf.cast(tf.linalg.matmul(gradient, table), tf.float32)
    # A derivative is linear in both ends, so its product with the upstream gradient is the score of
    # a relation that has the gradient as its folded row.
    head_gradient, tail_gradient = end_gradients(function, heads, tails, pair_gradient)
    given_gradient, target_gradient = _swap(head_gradient, tail_gradient, swapped)
    contributions = [
        (entities, sum_rows(given_gradient, rows, tf.shape(given)[0])),
        (targets, target_gradient[:num_triples]),
    ]
    folded_gradient = tf.cast(tf.linalg.matmul(gradient, pairs, transpose_a=True), tf.float32)
    return tf.reduce_sum(weights * (normalizers - wanted)), contributions, folded_gradient


def _swap(
    one: tf.Tensor, other: tf.Tensor, swapped: tf.Tensor | None
) -> tuple[tf.Tensor, tf.Tensor]:
    """Exchanges rows where `swapped` `[k, 1]` says so."""
    if swapped is None:
        return one, other
    return tf.where(swapped, other, one), tf.where(swapped, one, other)
