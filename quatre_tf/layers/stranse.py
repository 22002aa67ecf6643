"""STransE: translations between projections of head and tail."""

from typing import Any

import keras
import tensorflow as tf

from quatre_tf.layers.pointwise import PointwiseScore
from quatre_tf.similarities import root_of_squares
from quatre_tf.validation import check_choice


@keras.saving.register_keras_serializable("quatre_tf")
class STransE(PointwiseScore):
    """`-|W_r1 h + r - W_r2 t|`, by the L1 or L2 norm, with two matrices for each relation.

    The authors start from a trained TransE, with identity matrices.

    Args:
        num_relations: See `ScoreFunction`.
        embedding_dim: See `ScoreFunction`.
        norm: 1 or 2.

    References:
        - Nguyen et al., STransE: a Novel Embedding Model of Entities and Relationships in Knowledge
          Bases, NAACL 2016
    """

    def __init__(self, num_relations: int, embedding_dim: int, norm: int = 1, **kwargs: Any):
        super().__init__(num_relations, embedding_dim, **kwargs)
        self.norm = check_choice("norm", norm, (1, 2))

    def relation_tables(self) -> dict[str, tuple[int, ...]]:
        """Returns the shapes of `r`, `W_r1` and `W_r2`."""
        square = (self.embedding_dim, self.embedding_dim)
        return {
            "relation": (self.embedding_dim,),
            "head_projection": square,
            "tail_projection": square,
        }

    def scores(self, heads: tf.Tensor, folded: tf.Tensor, tails: tf.Tensor) -> tf.Tensor:
        """Returns minus the norm of the difference."""
        relations, of_heads, of_tails = self.unfold(folded)
        # Rows are multiplied from the left: h' W'.
        projected = tf.linalg.matmul(heads, of_heads, transpose_b=True)
        differences = projected + relations[:, tf.newaxis]
        differences -= tf.linalg.matmul(tails, of_tails, transpose_b=True)
        if self.norm == 1:
            return -tf.reduce_sum(tf.abs(differences), axis=-1)
        return -root_of_squares(differences)

    def get_config(self) -> dict:
        """Returns the constructor's arguments."""
        return {**super().get_config(), "norm": self.norm}
