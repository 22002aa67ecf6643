"""The half of DURA that bounds the queries of the opposite direction, and its gradient.

For a triple, DURA (Zhang et al., NeurIPS 2020) bounds the norms of both entities and of two
queries: one from the entity given to the answer, and one back from the answer. This module has the
second. Without it, the matrices of RESCAL are bounded on one side only.
"""

from collections.abc import Callable

import tensorflow as tf

from quatre_tf.layers.score_function import ScoreFunction
from quatre_tf.objectives import compiled_queries


def opposite_query_norms(
    function: ScoreFunction,
    folded: tf.Tensor,
    rows_of: Callable[[tf.Tensor], tf.Tensor],
    triples: tuple[tf.Tensor, tf.Tensor, tf.Tensor | None, tf.Tensor],
    weight: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Returns the weighted sum of squared norms, and its gradients.

    Args:
        function: A score function with `head_queries`.
        folded: `[k, width]`.
        rows_of: Returns the entity rows `[k, width]` of ids `[k]`.
        triples: As of `relation_prediction.predict_relations`.
        weight: Scalar.

    Returns:
        A scalar, the gradient `[num_triples, width]` of the targets, and that of `folded`.
    """
    rows, relations, is_head, targets = triples
    num_triples = tf.size(targets)
    padding = [[0, -num_triples % compiled_queries.MULTIPLE]]
    padded = tf.pad(rows, padding)
    weights = tf.pad(tf.fill([num_triples], weight), padding)[:, tf.newaxis]
    asks_tail = tf.fill(tf.shape(padded), True) if is_head is None else ~tf.gather(is_head, padded)
    arguments = (
        function,
        rows_of(tf.pad(targets, padding)),
        folded,
        tf.gather(relations, padded),
        # Where the query asks for a tail, the opposite one asks for a head.
        asks_tail,
    )
    queries = compiled_queries.queries(*arguments)
    target_gradient, folded_gradient = compiled_queries.query_gradients(
        *arguments, 2.0 * weights * queries
    )
    value = tf.reduce_sum(weights * tf.square(queries))
    return value, target_gradient[:num_triples], folded_gradient
