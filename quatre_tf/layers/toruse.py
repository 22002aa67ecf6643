"""TorusE: translations on a torus."""

import math
from typing import Any, ClassVar

import keras
import tensorflow as tf

from quatre_tf.layers.transe import TransE
from quatre_tf.similarities import Separable, Similarity, products, sum_components


class Torus(Separable):
    """`-2 sum delta`, delta the distance of each difference to the nearest integer (TorusE, L1)."""

    def term(self, *differences: tf.Tensor) -> tf.Tensor:
        """Returns twice the distance to the nearest integer."""
        return 2.0 * tf.abs(_wrapped(differences[0]))


class SquaredTorus(Separable):
    """`-4 sum delta^2` (TorusE, L2)."""

    def term(self, *differences: tf.Tensor) -> tf.Tensor:
        """Returns four times the squared distance to the nearest integer."""
        return 4.0 * tf.square(_wrapped(differences[0]))


class ChordTorus(Similarity):
    """`-sum (2 - 2 cos(2 pi delta)) / 4`, chords of the circle each component is (TorusE, eL2).

    By `cos(a - b) = cos a cos b + sin a sin b`, a tile is one product of points on the circles.
    """

    def pairs(self, queries: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
        """Returns `-sum sin(pi delta)^2`."""
        return -sum_components(tf.square(tf.sin(math.pi * _wrapped(queries - rows))))

    def tile(self, rows: tf.Tensor, queries: tf.Tensor) -> tf.Tensor:
        """Returns one matrix product, of twice the width."""
        return 0.5 * (products(_points(rows), _points(queries)) - rows.shape[1])

    def tile_gradients(
        self, rows: tf.Tensor, queries: tf.Tensor, scores: tf.Tensor, upstream: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns two matrix products, along the tangents of the circles."""
        del scores
        of_rows, of_queries = _points(rows), _points(queries)
        return (
            _along_tangents(of_rows, tf.linalg.matmul(upstream, of_queries)),
            _along_tangents(of_queries, tf.linalg.matmul(upstream, of_rows, transpose_a=True)),
        )


def _points(rows: tf.Tensor) -> tf.Tensor:
    """Returns the cosines and sines `[n, 2 width]` of rows `[n, width]`, 1 being a whole turn."""
    angles = 2.0 * math.pi * _wrapped(rows)
    return tf.concat([tf.cos(angles), tf.sin(angles)], axis=1)


def _along_tangents(points: tf.Tensor, upstream: tf.Tensor) -> tf.Tensor:
    """Returns the gradient `[n, width]` of rows, given that of their products `[n, 2 width]`."""
    cosines, sines = tf.split(points, 2, axis=1)
    of_cosines, of_sines = tf.split(upstream, 2, axis=1)
    return math.pi * (cosines * of_sines - sines * of_cosines)


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

    def table_initializer(self, name: str) -> Any:
        """Returns uniform translations: near 0, each head would be its own best tail."""
        del name
        return keras.initializers.RandomUniform(-0.5, 0.5)
