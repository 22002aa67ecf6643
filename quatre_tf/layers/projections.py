"""TransR and STransE: translations between projections by the relation."""

from collections.abc import Mapping, Sequence
from typing import Any

import keras
import tensorflow as tf

from quatre_tf.layers.projected import ProjectedScore
from quatre_tf.validation import check_positive


@keras.saving.register_keras_serializable("quatre_tf")
class TransR(ProjectedScore):
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
        relation_dim = check_positive("relation_dim", relation_dim or embedding_dim)
        super().__init__(num_relations, embedding_dim, relation_dim, norm=2, **kwargs)
        self.relation_dim = relation_dim

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

    def tail_queries(self, heads: tf.Tensor, folded: tf.Tensor) -> tf.Tensor:
        """Returns `[h M_r + r | M_r | number]`."""
        return self._queries(heads, folded, 1.0)

    def head_queries(self, tails: tf.Tensor, folded: tf.Tensor) -> tf.Tensor:
        """Returns `[t M_r - r | M_r | number]`."""
        return self._queries(tails, folded, -1.0)

    def _queries(self, rows: tf.Tensor, folded: tf.Tensor, sign: float) -> tf.Tensor:
        relations, matrices = self.unfold(folded[:, :-1])
        points = tf.linalg.matvec(matrices, rows, transpose_a=True) + sign * relations
        return tf.concat([points, folded[:, self.relation_dim :]], axis=-1)


@keras.saving.register_keras_serializable("quatre_tf")
class STransE(ProjectedScore):
    """`-|W_r1 h + r - W_r2 t|`, by the L1 or L2 norm, with two matrices for each relation.

    The authors start from a trained TransE.

    Args:
        num_relations: See `ScoreFunction`.
        embedding_dim: See `ScoreFunction`.
        norm: 1 or 2.

    References:
        - Nguyen et al., STransE: a Novel Embedding Model of Entities and Relationships in Knowledge
          Bases, NAACL 2016
    """

    def __init__(self, num_relations: int, embedding_dim: int, norm: int = 1, **kwargs: Any):
        super().__init__(num_relations, embedding_dim, embedding_dim, norm, **kwargs)
        self.norm = norm

    def relation_tables(self) -> dict[str, tuple[int, ...]]:
        """Returns the shapes of `r`, `W_r1` and `W_r2`."""
        square = (self.embedding_dim, self.embedding_dim)
        return {
            "relation": (self.embedding_dim,),
            "head_projection": square,
            "tail_projection": square,
        }

    def fold(self, rows: Sequence[tf.Tensor]) -> tf.Tensor:
        """Returns `[r | W_r1' | W_r2' | number]`: rows are multiplied from the left."""
        shape = [-1, self.embedding_dim, self.embedding_dim]
        transposed = [
            tf.reshape(tf.linalg.matrix_transpose(tf.reshape(row, shape)), tf.shape(row))
            for row in rows[1:]
        ]
        return super().fold([rows[0], *transposed])

    def tail_queries(self, heads: tf.Tensor, folded: tf.Tensor) -> tf.Tensor:
        """Returns `[W_r1 h + r | W_r2' | number]`."""
        relations, of_heads, of_tails = self.unfold(folded[:, :-1])
        return self._queries(heads, of_heads, relations, of_tails, folded[:, -1:])

    def head_queries(self, tails: tf.Tensor, folded: tf.Tensor) -> tf.Tensor:
        """Returns `[W_r2 t - r | W_r1' | -number]`."""
        relations, of_heads, of_tails = self.unfold(folded[:, :-1])
        return self._queries(tails, of_tails, -relations, of_heads, -folded[:, -1:])

    def _queries(
        self,
        rows: tf.Tensor,
        given: tf.Tensor,
        relations: tf.Tensor,
        wanted: tf.Tensor,
        numbers: tf.Tensor,
    ) -> tf.Tensor:
        points = tf.linalg.matvec(given, rows, transpose_a=True) + relations
        matrices = tf.reshape(wanted, [-1, self.embedding_dim**2])
        return tf.concat([points, matrices, numbers], axis=-1)
