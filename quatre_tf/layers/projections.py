"""Translations between projections of entities: TransR and STransE."""

from collections.abc import Mapping
from typing import Any

import keras
import tensorflow as tf

from quatre_tf.layers.pointwise import PointwiseScore
from quatre_tf.similarities import root_of_squares
from quatre_tf.validation import check_choice, check_positive


@keras.saving.register_keras_serializable("quatre_tf")
class TransR(PointwiseScore):
    """`-|h M_r + r - t M_r|`, the Euclidean norm, with a matrix `[d, k]` for each relation.

    The authors start from a trained TransE. They also keep projected entities in the unit ball,
    which is not part of the score here.

    Args:
        num_relations: See `ScoreFunction`.
        embedding_dim: Floats per entity, d.
        relation_dim: Floats per relation, k; 0 for `embedding_dim`.

    References:
        - Lin et al., Learning Entity and Relation Embeddings for Knowledge Graph Completion,
          AAAI 2015
    """

    def __init__(
        self, num_relations: int, embedding_dim: int, relation_dim: int = 0, **kwargs: Any
    ):
        super().__init__(num_relations, embedding_dim, **kwargs)
        self.relation_dim = check_positive("relation_dim", relation_dim or embedding_dim)

    @classmethod
    def options_of(cls, tables: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the size of a relation."""
        return {"relation_dim": tables["relation"].shape[-1]} if "relation" in tables else {}

    def relation_tables(self) -> dict[str, tuple[int, ...]]:
        """Returns the shapes of `r` and `M_r`."""
        return {
            "relation": (self.relation_dim,),
            "projection": (self.embedding_dim, self.relation_dim),
        }

    def scores(self, heads: tf.Tensor, folded: tf.Tensor, tails: tf.Tensor) -> tf.Tensor:
        """Returns `-|(h - t) M_r + r|`."""
        relations, projections = self.unfold(folded)
        differences = tf.linalg.matmul(heads - tails, projections) + relations[:, tf.newaxis]
        return -root_of_squares(differences)

    def get_config(self) -> dict:
        """Returns the constructor's arguments."""
        return {**super().get_config(), "relation_dim": self.relation_dim}


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
