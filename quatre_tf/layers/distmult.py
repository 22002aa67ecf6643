"""DistMult: a diagonal bilinear product."""

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
