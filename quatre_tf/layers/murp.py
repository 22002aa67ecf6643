"""MuRP: translations in the Poincare ball."""

from typing import Any

import keras
import tensorflow as tf

from quatre_tf import poincare
from quatre_tf.layers.pointwise import Pointwise, PointwiseScore
from quatre_tf.similarities import Similarity, products, root


class PoincareDistances(Pointwise):
    """Scores of MuRP: a tile is two matrix products and a function of their elements.

    With `a = exp_0(R_r log_0 h)` and `z = t (+) r`, a distance depends on `|a|`, `|z|` and `a . z`
    alone. For given heads these follow from `t . a`, `t . r` and norms; for given tails from the
    products of `log_0 h` with `R_r z` and of its squares with those of `R_r`.
    """

    def tile(self, rows: tf.Tensor, queries: tf.Tensor) -> tf.Tensor:
        """Returns the scores of all pairs; a tile of both sides takes twice as long."""
        return self._tile(rows, queries, _scores_of_tails, _scores_of_heads)

    def portable_tile(self, rows: tf.Tensor, queries: tf.Tensor) -> tf.Tensor:
        """Returns `tile` by standard operations."""
        functions = (_scores_of_tails.python_function, _scores_of_heads.python_function)
        return self._tile(rows, queries, *functions)

    # Of whole tiles: `Pointwise` goes pair by pair.
    tile_gradients = Similarity.tile_gradients

    def _tile(self, rows: tf.Tensor, queries: tf.Tensor, of_tails: Any, of_heads: Any) -> tf.Tensor:
        is_head = queries[:, -1] > 0.5
        rows, queries = tf.cast(rows, self.dtype), tf.cast(queries, self.dtype)
        dim = self._width - 2
        points, given = (poincare.project(some[:, :dim]) for some in (rows, queries))
        relations = poincare.project(queries[:, self._width : self._width + dim])
        diagonals = queries[:, self._width + dim : -1]

        def tails() -> tf.Tensor:
            heads = poincare.exponential(diagonals * poincare.logarithm(given))
            biases = rows[:, dim + 1, tf.newaxis] + queries[:, dim]
            dots = products(points, heads), products(points, relations)
            scalars = _squares(points)[:, tf.newaxis], *_scalars(heads, relations)
            return biases + of_tails(*dots, *scalars)

        def heads() -> tf.Tensor:
            tails = poincare.project(poincare.add(given, relations))
            tangents = poincare.logarithm(points)
            biases = rows[:, dim, tf.newaxis] + queries[:, dim + 1]
            dots = products(tangents, diagonals * tails)
            lengths = products(tf.square(tangents), tf.square(diagonals))
            return biases + of_heads(dots, lengths, _squares(tails))

        # Both where a batch asks for both sides, so that shapes do not depend on how many of each.
        return tf.cond(
            tf.reduce_all(is_head),
            heads,
            lambda: tf.cond(
                tf.reduce_any(is_head), lambda: tf.where(is_head, heads(), tails()), tails
            ),
        )


def _squares(rows: tf.Tensor) -> tf.Tensor:
    return tf.reduce_sum(tf.square(rows), axis=-1)


def _scalars(heads: tf.Tensor, relations: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    return _squares(heads), tf.reduce_sum(heads * relations, axis=-1), _squares(relations)


@tf.function(jit_compile=True, reduce_retracing=True, autograph=False)
def _scores_of_tails(
    ta: tf.Tensor, tr: tf.Tensor, tt: tf.Tensor, aa: tf.Tensor, ar: tf.Tensor, rr: tf.Tensor
) -> tf.Tensor:
    """Returns minus the squared distances `[m, b]` of products with t `[m, b]` and of norms."""
    divisor = 1.0 + 2.0 * tr + tt * rr
    zz = (tt + 2.0 * tr + rr) / divisor
    az = ((1.0 + 2.0 * tr + rr) * ta + (1.0 - tt) * ar) / divisor
    cut = tf.minimum(poincare.LARGEST_NORM / root(zz), 1.0)
    return _minus_squared_distances(aa, cut * az, tf.square(cut) * zz)


@tf.function(jit_compile=True, reduce_retracing=True, autograph=False)
def _scores_of_heads(dots: tf.Tensor, squares: tf.Tensor, zz: tf.Tensor) -> tf.Tensor:
    """Returns minus the squared distances `[m, b]`.

    Args:
        dots: `[m, b]`, of z and the tangents `R_r log_0 h`.
        squares: `[m, b]`, of the norms of these tangents.
        zz: `[b]`, of the norms of z.
    """
    length = root(squares)
    norm = tf.minimum(tf.tanh(length), poincare.LARGEST_NORM)
    return _minus_squared_distances(tf.square(norm), norm / length * dots, zz)


def _minus_squared_distances(aa: tf.Tensor, az: tf.Tensor, zz: tf.Tensor) -> tf.Tensor:
    """Returns minus the squared distance of points a and z by `|a|^2`, `a . z` and `|z|^2`."""
    norm = root((aa - 2.0 * az + zz) / (1.0 - 2.0 * az + aa * zz))
    return -4.0 * tf.square(tf.atanh(tf.minimum(norm, poincare.LARGEST_NORM)))


@keras.saving.register_keras_serializable("quatre_tf")
class MuRP(PointwiseScore):
    """`-d(exp_0(R_r log_0 h), t (+) r)^2 + b_h + b_t` in the Poincare ball, R_r diagonal.

    Scores are computed in float64, with norms cut to 1 - 1e-5. `SparseAdagrad` moves entities and
    `r` along geodesics. In a reciprocal model, b_h is the same for all candidates of a query.

    References:
        - Balazevic et al., Multi-relational Poincare Graph Embeddings, NeurIPS 2019
    """

    score_dtype = tf.float64
    ball_tables = ("entity", "relation")

    def __init__(self, num_relations: int, embedding_dim: int, **kwargs: Any):
        super().__init__(num_relations, embedding_dim, **kwargs)
        self.similarity = PoincareDistances(self.scores, self.entity_width, self.score_dtype)

    def entity_tables(self) -> dict[str, tuple[int, ...]]:
        """Returns the shapes of a point and its two biases."""
        return {"entity": (self.embedding_dim,), "head_bias": (), "tail_bias": ()}

    def relation_tables(self) -> dict[str, tuple[int, ...]]:
        """Returns the shapes of `r` and of the diagonal of `R_r`."""
        return {"relation": (self.embedding_dim,), "relation_diagonal": (self.embedding_dim,)}

    def table_initializer(self, name: str) -> Any:
        """Returns uniform(-1, 1) for the diagonal, as the authors: near 0, all heads would meet."""
        if name == "relation_diagonal":
            return keras.initializers.RandomUniform(-1.0, 1.0)
        return super().table_initializer(name)

    def scores(self, heads: tf.Tensor, folded: tf.Tensor, tails: tf.Tensor) -> tf.Tensor:
        """Returns minus the squared distance, plus both biases."""
        translations, diagonals = (row[:, tf.newaxis] for row in self.unfold(folded))
        h, t = poincare.project(heads[..., :-2]), poincare.project(tails[..., :-2])
        stretched = poincare.exponential(diagonals * poincare.logarithm(h))
        translated = poincare.project(poincare.add(t, poincare.project(translations)))
        norm = poincare.norm(poincare.add(-stretched, translated))[..., 0]
        distances = 2.0 * tf.atanh(tf.minimum(norm, poincare.LARGEST_NORM))
        return heads[..., -2] + tails[..., -1] - tf.square(distances)
