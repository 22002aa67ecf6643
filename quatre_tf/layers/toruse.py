"""TorusE: translations on a torus."""

import math
from typing import Any, ClassVar

import keras
import tensorflow as tf

from quatre_tf.layers.transe import TransE
from quatre_tf.similarities import Separable


class Torus(Separable):
    """`-2 sum delta`, delta the distance of each difference to the nearest integer (TorusE, L1)."""

    def term(self, *differences: tf.Tensor) -> tf.Tensor:
        """Returns twice the distance to the nearest integer."""
        return 2.0 * tf.abs(_wrapped(differences[0]))

    def slopes(self, *differences: tf.Tensor) -> tuple[tf.Tensor, ...]:
        """Returns 2 or -2, by the side of the nearest integer."""
        return (2.0 * tf.sign(_wrapped(differences[0])),)


class SquaredTorus(Separable):
    """`-4 sum delta^2` (TorusE, L2)."""

    def term(self, *differences: tf.Tensor) -> tf.Tensor:
        """Returns four times the squared distance to the nearest integer."""
        return 4.0 * tf.square(_wrapped(differences[0]))

    def slopes(self, *differences: tf.Tensor) -> tuple[tf.Tensor, ...]:
        """Returns eight times the signed distance to the nearest integer."""
        return (8.0 * _wrapped(differences[0]),)


class ChordTorus(Separable):
    """`-sum (2 - 2 cos(2 pi delta)) / 4`, chords of the circle each component is (TorusE, eL2)."""

    def term(self, *differences: tf.Tensor) -> tf.Tensor:
        """Returns `sin(pi delta)^2`."""
        return tf.square(tf.sin(math.pi * _wrapped(differences[0])))

    def slopes(self, *differences: tf.Tensor) -> tuple[tf.Tensor, ...]:
        """Returns `pi sin(2 pi delta)`."""
        return (math.pi * tf.sin(2.0 * math.pi * _wrapped(differences[0])),)


def _wrapped(difference: tf.Tensor) -> tf.Tensor:
    """Returns the signed distance to the nearest integer, in [-1/2, 1/2]."""
    return difference - tf.round(difference)


@keras.saving.register_keras_serializable("quatre_tf")
class TorusE(TransE):
    """The distance of `h + r` and `t` on a torus: whole numbers do not count.

    With delta the distance of each difference to the nearest integer, the score is
    `-2 sum delta` (L1), `-4 sum delta^2` (L2) or `-sum (2 - 2 cos(2 pi delta)) / 4` (eL2).

    Args:
        num_relations: See `ScoreFunction`.
        embedding_dim: See `ScoreFunction`.
        norm: 1, 2 or `"el2"`.

    References:
        - Ebisu and Ichise, TorusE: Knowledge Graph Embedding on a Lie Group, AAAI 2018
    """

    similarities: ClassVar = {1: Torus(), 2: SquaredTorus(), "el2": ChordTorus()}

    def __init__(
        self, num_relations: int, embedding_dim: int, norm: int | str = "el2", **kwargs: Any
    ):
        super().__init__(num_relations, embedding_dim, norm, **kwargs)
