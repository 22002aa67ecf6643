"""Quaternion algebra on tensors of shape `[..., 4, dim]`.

Axis -2 holds the components (real, i, j, k), axis -1 holds `dim` independent quaternions. All
functions are pure, broadcast over the leading axes and keep the dtype of their arguments.
"""

import tensorflow as tf

# Squared norms below this are treated as this. It is far below the square of any trained value and
# far above the smallest normal float32, so that a zero quaternion normalises to zero with a finite
# gradient, and every other one exactly as in the reference.
_TINY_SQUARED_NORM = 1e-30


def hamilton_product(q: tf.Tensor, p: tf.Tensor) -> tf.Tensor:
    """Returns the Hamilton product `q ⊗ p` (QuatRE paper, equation 3).

    Args:
        q: `[..., 4, dim]`, left factor.
        p: `[..., 4, dim]`, right factor, broadcastable against `q`.

    Returns:
        `[..., 4, dim]`.
    """
    q_r, q_i, q_j, q_k = tf.unstack(q, axis=-2)
    p_r, p_i, p_j, p_k = tf.unstack(p, axis=-2)
    return tf.stack(
        [
            q_r * p_r - q_i * p_i - q_j * p_j - q_k * p_k,
            q_i * p_r + q_r * p_i - q_k * p_j + q_j * p_k,
            q_j * p_r + q_k * p_i + q_r * p_j - q_i * p_k,
            q_k * p_r - q_j * p_i + q_i * p_j + q_r * p_k,
        ],
        axis=-2,
    )


def conjugate(q: tf.Tensor) -> tf.Tensor:
    """Returns `[..., 4, dim]` with the signs of the imaginary components of `q` flipped."""
    return q * tf.constant([[1.0], [-1.0], [-1.0], [-1.0]], dtype=q.dtype)


def normalize(q: tf.Tensor) -> tf.Tensor:
    """Returns `[..., 4, dim]`: each of the `dim` quaternions divided by its own norm.

    A zero quaternion stays zero (the reference divides by zero there).
    """
    squared_norm = tf.reduce_sum(tf.square(q), axis=-2, keepdims=True)
    return q * tf.math.rsqrt(tf.maximum(squared_norm, tf.cast(_TINY_SQUARED_NORM, q.dtype)))


def inner_product(q: tf.Tensor, p: tf.Tensor) -> tf.Tensor:
    """Returns `[...]`: the quaternion inner product summed over `dim` (a dot over 4 * dim)."""
    return tf.reduce_sum(q * p, axis=[-2, -1])


def as_quaternions(rows: tf.Tensor) -> tf.Tensor:
    """Returns `[..., 4, dim]` for rows `[..., 4 * dim]`; all sizes but the first are static."""
    return tf.reshape(rows, [-1, *rows.shape[1:-1], 4, rows.shape[-1] // 4])


def as_rows(quaternions: tf.Tensor) -> tf.Tensor:
    """Returns `[rows, 4 * dim]` for `[..., 4, dim]`; `dim` is static."""
    return tf.reshape(quaternions, [-1, 4 * quaternions.shape[-1]])
