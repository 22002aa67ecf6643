"""ConvKB: a convolution over the rows of a triple."""

from collections.abc import Mapping
from typing import Any

import keras
import tensorflow as tf

from quatre_tf.layers.pointwise import PointwiseScore
from quatre_tf.validation import check_positive


@keras.saving.register_keras_serializable("quatre_tf")
class ConvKB(PointwiseScore):
    """`w . relu(filters * [h, r, t])`: filters 1 x 3 with biases, weights filter by filter.

    Many scores are exactly equal after ReLU. Ranks count such ties by the tie policy. The authors
    start from a trained TransE.

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

    def scores(self, heads: tf.Tensor, folded: tf.Tensor, tails: tf.Tensor) -> tf.Tensor:
        """Returns the weighted sum of the feature maps `[batch, k, filters, dim]`."""
        relations, filters, biases, weights = self.unfold(folded)
        # [batch, 1, filters, 1]
        of_head, of_relation, of_tail = tf.split(filters[:, tf.newaxis], 3, axis=-1)
        fixed = (
            of_relation * relations[:, tf.newaxis, tf.newaxis]
            + biases[:, tf.newaxis, :, tf.newaxis]
        )
        maps = tf.nn.relu(
            of_head * heads[:, :, tf.newaxis] + fixed + of_tail * tails[:, :, tf.newaxis]
        )
        flat = tf.reshape(maps, [tf.shape(maps)[0], -1, weights.shape[-1]])
        return tf.linalg.matvec(flat, weights)

    def get_config(self) -> dict:
        """Returns the constructor's arguments."""
        return {**super().get_config(), "num_filters": self.num_filters}
