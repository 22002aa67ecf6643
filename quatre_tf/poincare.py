"""The Poincare ball: its points have norms below 1, and move along geodesics.

References:
    - Nickel and Kiela, Poincare Embeddings for Learning Hierarchical Representations, NeurIPS 2017
    - Ganea et al., Hyperbolic Neural Networks, NeurIPS 2018
"""

from typing import Any

import keras
import tensorflow as tf

from quatre_tf.sharded_rows import shards_of
from quatre_tf.similarities import root_of_squares

# Points are kept within this norm; at 1 distances are infinite.
LARGEST_NORM = 1.0 - 1e-5


def keep_in_ball(variable: Any, columns: int) -> None:
    """Makes the leading columns of each row of a table a point of the ball to optimizers.

    Args:
        variable: A `keras.Variable` `[rows, width]`.
        columns: The dimension of the points.
    """
    # On the variables that optimizers are given: on parameter servers, the shards of the table.
    for shard, _ in shards_of(variable.value):
        shard.ball_columns = columns


def ball_columns(variable: Any) -> int:
    """Returns how many leading columns `keep_in_ball` has named, 0 by default."""
    if isinstance(variable, keras.Variable):
        variable = variable.value
    return getattr(variable, "ball_columns", 0)


def norm(points: tf.Tensor) -> tf.Tensor:
    """Returns the Euclidean norms `[..., 1]` of points `[..., dim]`."""
    return root_of_squares(points)[..., tf.newaxis]


def project(points: tf.Tensor) -> tf.Tensor:
    """Returns points with their norms cut to `LARGEST_NORM`."""
    return points * tf.minimum(LARGEST_NORM / norm(points), 1.0)


def add(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    """Returns the Moebius sum of points `[..., dim]` of the ball."""
    product = tf.reduce_sum(x * y, axis=-1, keepdims=True)
    xx, yy = (tf.reduce_sum(tf.square(z), axis=-1, keepdims=True) for z in (x, y))
    total = (1.0 + 2.0 * product + yy) * x + (1.0 - xx) * y
    return total / (1.0 + 2.0 * product + xx * yy)


def logarithm(points: tf.Tensor) -> tf.Tensor:
    """Returns `log_0`: the tangents at the origin of the geodesics to points."""
    length = norm(points)
    return tf.atanh(length) / length * points


def exponential(tangents: tf.Tensor) -> tf.Tensor:
    """Returns `exp_0`, the inverse of `logarithm`, projected."""
    length = norm(tangents)
    return project(tf.tanh(length) / length * tangents)


def conformal_scale(points: tf.Tensor) -> tf.Tensor:
    """Returns `(1 - |p|^2) / 2` `[..., 1]`, the Euclidean length of a short hyperbolic length 1."""
    return 0.5 * (1.0 - tf.reduce_sum(tf.square(points), axis=-1, keepdims=True))


def move(points: tf.Tensor, tangents: tf.Tensor) -> tf.Tensor:
    """Returns the exponential map `exp_p(v)` of points and tangents `[..., dim]`, projected."""
    return project(add(points, exponential(tangents / (2.0 * conformal_scale(points)))))
