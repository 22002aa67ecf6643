"""TransR: translations in a space of the relation."""

from collections.abc import Mapping
from typing import Any

import keras
import tensorflow as tf

from quatre_tf.layers.pointwise import PointwiseScore
from quatre_tf.similarities import root_of_squares
from quatre_tf.validation import check_positive


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
