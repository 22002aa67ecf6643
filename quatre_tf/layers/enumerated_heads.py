"""Heads by enumeration, where a score function has queries for tails only."""

from collections.abc import Callable

import tensorflow as tf

from quatre_tf.layers.pointwise import Pointwise
from quatre_tf.layers.score_function import ScoreFunction, Weights


class EnumeratedHeads(Pointwise):
    """Scores entities as heads: each makes a query, which is compared with the given tail.

    This costs a query for every pair, in blocks of bounded size; a model with reciprocal relations
    needs one for each question. Queries are those of `enumerating_queries`.

    Args:
        function: The score function; only its pure functions are used.
        weights: Returns the `shared_weights`.
    """

    def __init__(self, function: ScoreFunction, weights: Callable[[], Weights]):
        tail_queries, encode, similarity = (
            function.tail_queries,
            function.encode,
            function.similarity,
        )

        def scores(heads: tf.Tensor, folded: tf.Tensor, tails: tf.Tensor) -> tf.Tensor:
            shape = tf.shape(heads)[:2]
            flat_heads, flat_tails = (tf.reshape(r, [-1, r.shape[-1]]) for r in (heads, tails))
            queries = tail_queries(flat_heads, tf.repeat(folded, shape[1], axis=0))
            encoded, _ = encode(queries, weights())
            return tf.reshape(similarity.pairs(encoded, flat_tails), shape)

        super().__init__(scores, function.entity_width, similarity.dtype)


def enumerating_queries(tails: tf.Tensor, folded: tf.Tensor) -> tf.Tensor:
    """Returns `[t | folded relation | 1]`, queries `[batch, width]` of `EnumeratedHeads`."""
    return tf.concat([tails, folded, tf.ones_like(tails[:, :1])], axis=-1)
