"""ComplEx: a complex bilinear product."""

import keras
import tensorflow as tf

from quatre_tf.layers.score_function import ScoreFunction


@keras.saving.register_keras_serializable("quatre_tf")
class ComplEx(ScoreFunction):
    """`Re(sum of h r conj(t))` over complex numbers, stored `[real | imaginary]`.

    References:
        - Trouillon et al., Complex Embeddings for Simple Link Prediction, ICML 2016
    """

    entity_components = 2
    multilinear = True

    def tail_queries(self, heads: tf.Tensor, folded: tf.Tensor) -> tf.Tensor:
        """Returns `h r`."""
        return multiply(heads, folded)

    def head_queries(self, tails: tf.Tensor, folded: tf.Tensor) -> tf.Tensor:
        """Returns `t conj(r)`."""
        real, imaginary = tf.split(folded, 2, axis=-1)
        return multiply(tails, tf.concat([real, -imaginary], axis=-1))


def multiply(one: tf.Tensor, other: tf.Tensor) -> tf.Tensor:
    """Returns the complex product of rows `[batch, 2n]`, `[real | imaginary]`."""
    a, b = tf.split(one, 2, axis=-1)
    c, d = tf.split(other, 2, axis=-1)
    return tf.concat([a * c - b * d, a * d + b * c], axis=-1)
