"""MuRP: translations in the Poincare ball."""

import keras
import tensorflow as tf

from quatre_tf.layers.pointwise import PointwiseScore
from quatre_tf.similarities import root_of_squares

# The largest norm of a point of the ball; at 1 distances are infinite.
_LARGEST_NORM = 1.0 - 1e-5


@keras.saving.register_keras_serializable("quatre_tf")
class MuRP(PointwiseScore):
    """`-d(exp_0(R_r log_0 h), t (+) r)^2 + b_h + b_t` in the Poincare ball, R_r diagonal.

    Scores are computed in float64. Norms are clamped to 1 - 1e-5. Training uses the ordinary
    optimizer with that clamp; the authors' Riemannian updates are not implemented, so their results
    should not be expected. In a reciprocal model, b_h is the same for all candidates of a query.

    References:
        - Balazevic et al., Multi-relational Poincare Graph Embeddings, NeurIPS 2019
    """

    score_dtype = tf.float64

    def entity_tables(self) -> dict[str, tuple[int, ...]]:
        """Returns the shapes of a point and its two biases."""
        return {"entity": (self.embedding_dim,), "head_bias": (), "tail_bias": ()}

    def relation_tables(self) -> dict[str, tuple[int, ...]]:
        """Returns the shapes of `r` and of the diagonal of `R_r`."""
        return {"relation": (self.embedding_dim,), "relation_diagonal": (self.embedding_dim,)}

    def scores(self, heads: tf.Tensor, folded: tf.Tensor, tails: tf.Tensor) -> tf.Tensor:
        """Returns minus the squared distance, plus both biases."""
        translations, diagonals = (row[:, tf.newaxis] for row in self.unfold(folded))
        h, t = _in_ball(heads[..., :-2]), _in_ball(tails[..., :-2])
        norm = _norm(h)
        tangents = diagonals * h * tf.atanh(norm) / norm
        norm = _norm(tangents)
        stretched = _in_ball(tangents * tf.tanh(norm) / norm)
        translated = _in_ball(_add(t, _in_ball(translations)))
        norm = tf.minimum(_norm(_add(-stretched, translated)), _LARGEST_NORM)
        distances = 2.0 * tf.atanh(norm[..., 0])
        return heads[..., -2] + tails[..., -1] - tf.square(distances)


def _norm(points: tf.Tensor) -> tf.Tensor:
    return root_of_squares(points)[..., tf.newaxis]


def _in_ball(points: tf.Tensor) -> tf.Tensor:
    return points * tf.minimum(_LARGEST_NORM / _norm(points), 1.0)


def _add(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    """Returns the Moebius sum of points of the ball."""
    product = tf.reduce_sum(x * y, axis=-1, keepdims=True)
    xx, yy = (tf.reduce_sum(tf.square(z), axis=-1, keepdims=True) for z in (x, y))
    total = (1.0 + 2.0 * product + yy) * x + (1.0 - xx) * y
    return total / (1.0 + 2.0 * product + xx * yy)
