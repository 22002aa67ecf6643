"""DistMult, ComplEx and RESCAL: bilinear products."""

import keras
import tensorflow as tf

from quatre_tf.layers.score_function import ScoreFunction


@keras.saving.register_keras_serializable("quatre_tf")
class DistMult(ScoreFunction):
    """`sum of h r t`, elementwise.

    References:
        - Yang et al., Embedding Entities and Relations for Learning and Inference in Knowledge
          Bases, ICLR 2015
    """

    multilinear = True

    def tail_queries(self, heads: tf.Tensor, folded: tf.Tensor) -> tf.Tensor:
        """Returns `h r`."""
        return heads * folded

    def head_queries(self, tails: tf.Tensor, folded: tf.Tensor) -> tf.Tensor:
        """Returns `t r`: the score is symmetric in head and tail."""
        return tails * folded


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


@keras.saving.register_keras_serializable("quatre_tf")
class RESCAL(ScoreFunction):
    """`h' M_r t` with a matrix for each relation.

    References:
        - Nickel et al., A Three-Way Model for Collective Learning on Multi-Relational Data,
          ICML 2011
    """

    multilinear = True
    multiplies_by_matrix = True

    def relation_tables(self) -> dict[str, tuple[int, ...]]:
        """Returns the shape of `M_r`."""
        return {"relation": (self.embedding_dim, self.embedding_dim)}

    def tail_queries(self, heads: tf.Tensor, folded: tf.Tensor) -> tf.Tensor:
        """Returns `M_r' h`."""
        return tf.linalg.matvec(self._matrices(folded), heads, transpose_a=True)

    def head_queries(self, tails: tf.Tensor, folded: tf.Tensor) -> tf.Tensor:
        """Returns `M_r t`."""
        return tf.linalg.matvec(self._matrices(folded), tails)

    def _matrices(self, folded: tf.Tensor) -> tf.Tensor:
        return tf.reshape(folded, [-1, self.embedding_dim, self.embedding_dim])


def multiply(one: tf.Tensor, other: tf.Tensor) -> tf.Tensor:
    """Returns the complex product of rows `[batch, 2n]`, `[real | imaginary]`."""
    a, b = tf.split(one, 2, axis=-1)
    c, d = tf.split(other, 2, axis=-1)
    return tf.concat([a * c - b * d, a * d + b * c], axis=-1)
