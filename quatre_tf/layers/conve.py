"""ConvE: a convolution over the images of an entity and a relation."""

import math
from collections.abc import Mapping
from typing import Any

import keras
import tensorflow as tf

from quatre_tf.layers.normalization import BatchNormalizer, dropout
from quatre_tf.layers.score_function import ScoreFunction, Weights
from quatre_tf.validation import check_positive, check_rate

_KERNEL = 3


@keras.saving.register_keras_serializable("quatre_tf")
class ConvE(ScoreFunction):
    """`<f([h; r]), t> + b_t`, f a convolution and a dense layer with batch norm, dropout and ReLU.

    h and r are reshaped to images, one above the other. Heads are predicted through reciprocal
    relations. The tables have the names of PyKEEN's: `hr2d_0` normalizes the image, `hr2d_2` is the
    convolution (3 x 3, no padding), `hr2d_3` normalizes its channels, `hr1d_0` is the dense layer
    and `hr1d_2` normalizes its outputs. Outside training the moving statistics normalize, and
    nothing is dropped; so it is with `fit` of Keras, too.

    Args:
        num_relations: See `ScoreFunction`.
        embedding_dim: Height times width of an image: 200 is 10 x 20. The height is the largest
            divisor up to the square root, at least 2.
        num_filters: Channels of the convolution.
        input_dropout: Share of the pixels that training drops.
        feature_map_dropout: Share of the channels that training drops, each as a whole.
        hidden_dropout: Share of the outputs of the dense layer that training drops.

    References:
        - Dettmers et al., Convolutional 2D Knowledge Graph Embeddings, AAAI 2018
    """

    def __init__(
        self,
        num_relations: int,
        embedding_dim: int,
        num_filters: int = 32,
        input_dropout: float = 0.2,
        feature_map_dropout: float = 0.2,
        hidden_dropout: float = 0.3,
        **kwargs: Any,
    ):
        super().__init__(num_relations, embedding_dim, **kwargs)
        self.num_filters = check_positive("num_filters", num_filters)
        self.input_dropout = check_rate("input_dropout", input_dropout)
        self.feature_map_dropout = check_rate("feature_map_dropout", feature_map_dropout)
        self.hidden_dropout = check_rate("hidden_dropout", hidden_dropout)

    @classmethod
    def options_of(cls, tables: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the number of filters."""
        return {"num_filters": len(tables["hr2d_2_weight"])} if "hr2d_2_weight" in tables else {}

    @property
    def image_shape(self) -> tuple[int, int]:
        """Height and width of the image of an embedding.

        Raises:
            ValueError: The dimension is no product of a height of 2 or more and a width of 3 or
                more.
        """
        dim = self.embedding_dim
        heights = [h for h in range(2, math.isqrt(dim) + 1) if dim % h == 0 and dim // h >= _KERNEL]
        if not heights:
            raise ValueError(
                "`embedding_dim` of ConvE must be a product of height and width, at least 2 x 3, "
                f"for example 200 = 10 x 20. Received: embedding_dim={dim}."
            )
        return heights[-1], dim // heights[-1]

    def entity_tables(self) -> dict[str, tuple[int, ...]]:
        """Returns the shapes of an embedding and of the bias of an entity as a tail."""
        return {"entity": (self.embedding_dim,), "tail_bias": (1,)}

    def relation_tables(self) -> dict[str, tuple[int, ...]]:
        """Returns the shape of a relation's embedding."""
        return {"relation": (self.embedding_dim,)}

    def dense_tables(self) -> dict[str, tuple[int, ...]]:
        """Returns the shapes of the layers' weights that are trained, as PyTorch stores them."""
        layers, constants = self._layer_shapes(), self._constants
        return {name: shape for name, shape in layers.items() if name not in constants}

    @property
    def _constants(self) -> set[str]:
        """Weights that the next normalization cancels.

        Their gradients are rounding noise, which an adaptive optimizer would turn into whole steps.
        """
        constants = {"hr2d_0_weight", "hr2d_2_bias"}
        # Dropout in between makes an offset count.
        if not self.input_dropout:
            constants.add("hr2d_0_bias")
        if not self.hidden_dropout:
            constants.add("hr1d_0_bias")
        return constants

    def _layer_shapes(self) -> dict[str, tuple[int, ...]]:
        height, width = self.image_shape
        pixels = (2 * height - _KERNEL + 1) * (width - _KERNEL + 1)
        return {
            **_scale_and_offset("hr2d_0", 1),
            "hr2d_2_weight": (self.num_filters, 1, _KERNEL, _KERNEL),
            "hr2d_2_bias": (self.num_filters,),
            **_scale_and_offset("hr2d_3", self.num_filters),
            "hr1d_0_weight": (self.embedding_dim, self.num_filters * pixels),
            "hr1d_0_bias": (self.embedding_dim,),
            **_scale_and_offset("hr1d_2", self.embedding_dim),
        }

    def statistics(self) -> dict[str, tuple[int, ...]]:
        """Returns the shapes of the moving means and variances, and of weights that stay."""
        constants, layers = self._constants, self._layer_shapes()
        sizes = {"hr2d_0": 1, "hr2d_3": self.num_filters, "hr1d_2": self.embedding_dim}
        moments = {
            f"{name}_running_{moment}": (size,)
            for name, size in sizes.items()
            for moment in ("mean", "var")
        }
        return {**{name: layers[name] for name in layers if name in constants}, **moments}

    def table_initializer(self, name: str) -> Any:
        """Returns Glorot uniform for the layers; they start with no offset and variance 1."""
        if name in self.relation_tables():
            return super().table_initializer(name)
        if name in ("hr2d_2_weight", "hr1d_0_weight"):
            return keras.initializers.GlorotUniform()
        return "ones" if name.endswith(("weight", "var")) else "zeros"

    def tail_queries(self, heads: tf.Tensor, folded: tf.Tensor) -> tf.Tensor:
        """Returns `[h | r]`."""
        return tf.concat([heads[:, : self.embedding_dim], folded], axis=-1)

    def encode(
        self, queries: tf.Tensor, weights: Weights, seed: tf.Tensor | None = None
    ) -> tuple[tf.Tensor, Weights]:
        """Returns `[f([h; r]) | 1]`."""
        normalize = BatchNormalizer(weights, is_training=seed is not None)
        height, width = self.image_shape
        images = tf.reshape(queries, [-1, 2 * height, width, 1])
        images = dropout(normalize("hr2d_0", images), self.input_dropout, seed, 0)
        kernel = tf.transpose(weights["hr2d_2_weight"], [2, 3, 1, 0])
        maps = tf.nn.conv2d(images, kernel, 1, "VALID") + weights["hr2d_2_bias"]
        maps = tf.nn.relu(normalize("hr2d_3", maps))
        maps = dropout(maps, self.feature_map_dropout, seed, 1, whole_channels=True)
        dense = weights["hr1d_0_weight"]
        flat = tf.reshape(tf.transpose(maps, [0, 3, 1, 2]), [-1, dense.shape[1]])
        hidden = tf.linalg.matmul(flat, dense, transpose_b=True) + weights["hr1d_0_bias"]
        hidden = normalize("hr1d_2", dropout(hidden, self.hidden_dropout, seed, 2))
        features = tf.nn.relu(hidden)
        return tf.concat([features, tf.ones_like(features[:, :1])], axis=-1), normalize.statistics


def _scale_and_offset(name: str, size: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}_weight": (size,), f"{name}_bias": (size,)}
