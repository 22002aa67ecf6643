"""A table of quaternion vectors."""

from typing import Any

import keras
import tensorflow as tf

from quatre_tf.sparse_rows import gather_distinct
from quatre_tf.validation import check_positive


@keras.saving.register_keras_serializable("quatre_tf")
class QuaternionEmbedding(keras.layers.Layer):
    """Maps ids to vectors of quaternions.

    The table `embeddings` has shape `[num_embeddings, 4 * embedding_dim]`, each row the
    concatenation `[real | i | j | k]` as in the reference implementation. Rows are not normalised.

    Args:
        num_embeddings: Number of rows.
        embedding_dim: Quaternions per row (`n` of the paper).
        embeddings_initializer: Initialiser of the table. The default is the reference's: uniform in
            ±sqrt(6 / (num_embeddings + 4 * embedding_dim)).

    Raises:
        ValueError: A size is not a positive integer.

    Example:
        >>> layer = QuaternionEmbedding(num_embeddings=10, embedding_dim=8)
        >>> layer(tf.constant([3, 7])).shape
        TensorShape([2, 4, 8])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        embeddings_initializer: Any = "glorot_uniform",
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.num_embeddings = check_positive("num_embeddings", num_embeddings)
        self.embedding_dim = check_positive("embedding_dim", embedding_dim)
        self.embeddings_initializer = keras.initializers.get(embeddings_initializer)

    def build(self, input_shape: Any = None) -> None:
        """Creates the table; the shape of the ids does not matter."""
        self.embeddings = self.add_weight(
            name="embeddings",
            shape=(self.num_embeddings, 4 * self.embedding_dim),
            initializer=self.embeddings_initializer,
            # Mixed precision would cast the whole table for a few rows, and its gradient with it.
            autocast=False,
        )
        super().build(input_shape)

    def lookup(self, ids: tf.Tensor) -> tf.Tensor:
        """Returns rows `[..., 4 * embedding_dim]` in the dtype of the table.

        `tf.nn.embedding_lookup` on the raw variable: `keras.ops.take` and `tf.gather` on a Keras
        variable copy the whole table at every step.
        """
        return tf.nn.embedding_lookup(self.embeddings.value, ids)

    def call(self, ids: tf.Tensor) -> tf.Tensor:
        """Returns `[..., 4, embedding_dim]` in the compute dtype for integer ids `[...]`."""
        flat = tf.reshape(tf.cast(ids, tf.int32) if not ids.dtype.is_integer else ids, [-1])
        rows = gather_distinct(self.lookup, flat)
        shape = tf.concat([tf.shape(ids), [4, self.embedding_dim]], axis=0)
        quaternions = tf.ensure_shape(
            tf.reshape(rows, shape), [*ids.shape.as_list(), 4, self.embedding_dim]
        )
        return tf.cast(quaternions, self.compute_dtype)

    def compute_output_shape(self, input_shape: Any) -> tuple:
        """Returns `(*input_shape, 4, embedding_dim)`."""
        return (*input_shape, 4, self.embedding_dim)

    def get_config(self) -> dict:
        """Returns the constructor's arguments."""
        return {
            **super().get_config(),
            "num_embeddings": self.num_embeddings,
            "embedding_dim": self.embedding_dim,
            "embeddings_initializer": keras.initializers.serialize(self.embeddings_initializer),
        }
