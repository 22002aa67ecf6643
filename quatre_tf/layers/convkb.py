"""ConvKB: a convolution over the rows of a triple."""

from collections.abc import Mapping, Sequence
from typing import Any

import keras
import tensorflow as tf

from quatre_tf.layers.pointwise import Pointwise, PointwiseScore
from quatre_tf.validation import check_positive

# Features that are added in one pass over a tile: the sum is written once for all of them.
_UNROLLED = 16


class FeatureMaps(Pointwise):
    """Scores of ConvKB, feature by feature: memory holds one sum for each pair.

    Feature k = f d + j is component j of filter f. All but the product with the candidate's
    component is computed once for each query.

    Args:
        function: The score function; only its pure functions are used.
    """

    def __init__(self, function: "ConvKB"):
        super().__init__(function.scores, function.entity_width)
        self._function = function

    @tf.function(jit_compile=True, autograph=False)
    def tile(self, rows: tf.Tensor, queries: tf.Tensor) -> tf.Tensor:
        """Returns the scores of all pairs."""
        return self.portable_tile(rows, queries)

    def portable_tile(self, rows: tf.Tensor, queries: tf.Tensor) -> tf.Tensor:
        """Returns `tile` by standard operations."""
        dim, num_filters = self._width, self._function.num_filters
        slopes, fixed, weights = self._features(queries)
        # Padding has the weight 0.
        padding = [[0, -num_filters * dim % _UNROLLED]]
        fixed = tf.pad(fixed, [*padding, [0, 0]])
        weights, components = tf.pad(weights, padding), tf.transpose(rows)

        def add(start: tf.Tensor, sums: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            for k in range(_UNROLLED):
                feature = start + k
                slope = slopes[tf.minimum(feature // dim, num_filters - 1)]
                candidates = components[feature % dim][:, tf.newaxis]
                sums += weights[feature] * tf.nn.relu(slope * candidates + fixed[feature])
            return start + _UNROLLED, sums

        _, sums = tf.while_loop(
            lambda start, _: start < num_filters * dim,
            add,
            (tf.constant(0), tf.zeros([tf.shape(rows)[0], tf.shape(queries)[0]], rows.dtype)),
            parallel_iterations=1,
        )
        return sums

    @tf.function(jit_compile=True, autograph=False)
    def tile_gradients(
        self, rows: tf.Tensor, queries: tf.Tensor, scores: tf.Tensor, upstream: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the gradients, feature by feature as well."""
        del scores
        dim, num_features = self._width, self._function.num_filters * self._width
        with tf.GradientTape() as tape:
            tape.watch(queries)
            slopes, fixed, weights = self._features(queries)
        components = tf.transpose(rows)

        def gradients(feature: tf.Tensor) -> tuple[tf.Tensor, ...]:
            slope, candidates = slopes[feature // dim], components[feature % dim]
            active = candidates[:, tf.newaxis] * slope + fixed[feature] > 0.0
            passed = tf.where(active, upstream, 0.0)
            factors = tf.stack([tf.ones_like(candidates), candidates])
            of_fixed, of_slope = tf.unstack(tf.linalg.matmul(factors, passed))
            of_weight = tf.reduce_sum(of_slope * slope + of_fixed * fixed[feature])
            weight = weights[feature]
            of_candidates = weight * tf.linalg.matvec(passed, slope)
            return weight * of_slope, weight * of_fixed, of_weight, of_candidates

        of_slopes, of_fixed, of_weights, of_candidates = tf.map_fn(
            gradients,
            tf.range(num_features),
            fn_output_signature=(queries.dtype,) * 4,
        )
        of_queries = tape.gradient(
            [slopes, fixed, weights], queries, [self._sums(of_slopes, 1), of_fixed, of_weights]
        )
        return tf.transpose(self._sums(of_candidates, 0)), of_queries

    def _sums(self, of_features: tf.Tensor, axis: int) -> tf.Tensor:
        """Returns the sums `[dim or num_filters, any]` of `[num_filters * dim, any]`."""
        shape = [self._function.num_filters, self._width, tf.shape(of_features)[1]]
        return tf.reduce_sum(tf.reshape(of_features, shape), axis)

    def _features(self, queries: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Returns what a feature adds to a score, `weight * relu(slope * component + fixed)`.

        Returns:
            The slopes `[num_filters, batch]`, the rest `[num_filters * dim, batch]` and the weights
            `[num_filters * dim]`.
        """
        given, is_head = queries[:, : self._width], queries[:, -1:] > 0.5
        relations, filters, biases, weights = self._function.unfold(queries[:, self._width : -1])
        of_head, of_relation, of_tail = tf.unstack(filters, axis=-1)
        fixed = (
            tf.where(is_head, of_tail, of_head)[..., tf.newaxis] * given[:, tf.newaxis]
            + of_relation[..., tf.newaxis] * relations[:, tf.newaxis]
            + biases[..., tf.newaxis]
        )
        num_features = self._function.num_filters * self._width
        return (
            tf.transpose(tf.where(is_head, of_head, of_tail)),
            tf.reshape(tf.transpose(fixed, [1, 2, 0]), [num_features, -1]),
            _first(weights),
        )


def _first(weights: tf.Tensor) -> tf.Tensor:
    """Returns the weights, which all queries `[batch, ...]` share; zeros where there are none."""
    return tf.reduce_sum(weights[:1], axis=0)


def _opposite_translations(shape: Sequence[int], dtype: Any = None) -> tf.Tensor:
    """Returns filters near `[1, 1, -1]` and `[-1, -1, 1]` in turn."""
    # The authors' deviation.
    noise = keras.initializers.TruncatedNormal(stddev=0.1)(shape, dtype)
    signs = 1 - 2 * (tf.range(shape[0]) % 2)
    return noise + tf.cast(signs[:, tf.newaxis] * [1, 1, -1], noise.dtype)


@keras.saving.register_keras_serializable("quatre_tf")
class ConvKB(PointwiseScore):
    """`w . relu(filters * [h, r, t])`: filters 1 x 3 with biases, weights filter by filter.

    Many scores are exactly equal after ReLU. Ranks count such ties by the tie policy. The authors
    start from a trained TransE; here filters and weights begin as its distance.

    Args:
        num_relations: See `ScoreFunction`.
        embedding_dim: See `ScoreFunction`.
        num_filters: Filters of the convolution.

    References:
        - Nguyen et al., A Novel Embedding Model for Knowledge Base Completion Based on
          Convolutional Neural Network, NAACL 2018
    """

    def __init__(
        self, num_relations: int, embedding_dim: int, num_filters: int = 64, **kwargs: Any
    ):
        super().__init__(num_relations, embedding_dim, **kwargs)
        self.num_filters = check_positive("num_filters", num_filters)
        self.similarity = FeatureMaps(self)

    @classmethod
    def options_of(cls, tables: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the number of filters."""
        return {"num_filters": len(tables["filters"])} if "filters" in tables else {}

    def dense_tables(self) -> dict[str, tuple[int, ...]]:
        """Returns the shapes of the filters, their biases and the weights."""
        return {
            "filters": (self.num_filters, 3),
            "filter_bias": (self.num_filters,),
            "weights": (self.num_filters * self.embedding_dim,),
        }

    def table_initializer(self, name: str) -> Any:
        """Returns initial filters and weights with which training begins close to TransE's (L1).

        With opposite filters, `relu(x) + relu(-x) = |x|`, and the weights take the mean of pairs.
        """
        if name == "relation":
            return super().table_initializer(name)
        if name == "filters":
            return _opposite_translations
        return keras.initializers.Constant(-2.0 / self.num_filters if name == "weights" else 0.0)

    def scores(self, heads: tf.Tensor, folded: tf.Tensor, tails: tf.Tensor) -> tf.Tensor:
        """Returns the weighted sum of the feature maps `[filters * dim, batch * k]`."""
        relations, filters, biases, weights = self.unfold(folded)
        shape = tf.broadcast_dynamic_shape(tf.shape(heads), tf.shape(tails))
        rows = [
            tf.broadcast_to(row, shape)
            for row in (heads, relations[:, tf.newaxis], tails, tf.ones_like(heads))
        ]
        # [filters, 4] times [4, dim * pairs]
        inputs = tf.reshape(tf.transpose(tf.stack(rows), [0, 3, 1, 2]), [4, -1])
        kernel = tf.concat([_first(filters), _first(biases)[:, tf.newaxis]], axis=1)
        maps = tf.reshape(
            tf.nn.relu(tf.linalg.matmul(kernel, inputs)), [weights.shape[-1], shape[0] * shape[1]]
        )
        return tf.reshape(tf.linalg.matvec(maps, _first(weights), transpose_a=True), shape[:2])
