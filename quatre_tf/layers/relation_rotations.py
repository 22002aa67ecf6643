"""The relation side of QuatRE, folded into one unit quaternion vector a relation."""

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from quatre_tf.layers.quaternion_embedding import QuaternionEmbedding
from quatre_tf.quaternion import conjugate, hamilton_product, normalize
from quatre_tf.sparse_rows import gather_distinct
from quatre_tf.validation import check_choice, check_positive

# Which of the rotations v_{r,1} (head) and v_{r,2} (tail) a variant learns; the others are 1.
_HEAD_ROTATION = {"quatre": True, "quate": False, "quatre_head": True, "quatre_tail": False}
_TAIL_ROTATION = {"quatre": True, "quate": False, "quatre_head": False, "quatre_tail": True}
VARIANTS = tuple(_HEAD_ROTATION)


@keras.saving.register_keras_serializable("quatre_tf")
class RelationRotations(keras.layers.Layer):
    """Folds the relation vector and its two rotations into `w_r`.

    With `<|` for per-quaternion normalisation, the paper scores
    `((h ⊗ v_{r,1}<|) ⊗ v_r<|) · (t ⊗ v_{r,2}<|)`. Right multiplication by a unit quaternion is
    orthogonal and its adjoint is right multiplication by the conjugate, so the score equals
    `(h ⊗ w_r) · t` with

        w_r = v_{r,1}<| ⊗ v_r<| ⊗ conj(v_{r,2}<|)

    The adjoint needs no unit length: with `normalize_relations=False` v_r enters as it is, and the
    identity holds for a w_r of any modulus (the rotations v_{r,1} and v_{r,2} stay unit).

    Args:
        num_relations: Number of relations.
        embedding_dim: Quaternions per relation (`n` of the paper).
        variant: `"quatre"`; `"quate"` (no rotations); `"quatre_head"`, `"quatre_tail"` (only the
            head or only the tail rotation: ablations (i) and (ii) of the paper).
        normalize_relations: Whether v_r is normalised, as in the paper. Free moduli let a relation
            weigh the components of a score.
        embeddings_initializer: Initialiser of every table.

    Raises:
        ValueError: A size is not a positive integer, or the variant is unknown.

    Example:
        >>> layer = RelationRotations(num_relations=3, embedding_dim=8)
        >>> layer(tf.constant([0, 2])).shape
        TensorShape([2, 4, 8])

    References:
        - Nguyen et al., QuatRE: Relation-Aware Quaternions for Knowledge Graph Embeddings, WWW 2022
    """

    def __init__(
        self,
        num_relations: int,
        embedding_dim: int,
        variant: str = "quatre",
        normalize_relations: bool = True,
        embeddings_initializer: Any = "glorot_uniform",
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.num_relations = check_positive("num_relations", num_relations)
        self.embedding_dim = check_positive("embedding_dim", embedding_dim)
        self.variant = check_choice("variant", variant, VARIANTS)
        self.normalize_relations = normalize_relations
        self.embeddings_initializer = keras.initializers.get(embeddings_initializer)
        self.relation = self._make_table("relation")
        self.head_rotation = self._make_table("head_rotation") if _HEAD_ROTATION[variant] else None
        self.tail_rotation = self._make_table("tail_rotation") if _TAIL_ROTATION[variant] else None

    def _make_table(self, name: str) -> QuaternionEmbedding:
        return QuaternionEmbedding(
            self.num_relations,
            self.embedding_dim,
            # A clone: a seeded initialiser shared by the tables would give them equal values.
            self.embeddings_initializer.clone(),
            dtype=self.dtype_policy,
            name=name,
        )

    @property
    def tables(self) -> list[QuaternionEmbedding]:
        """The learned tables, in the order relation, head rotation, tail rotation."""
        tables = [self.relation, self.head_rotation, self.tail_rotation]
        return [table for table in tables if table is not None]

    def build(self, input_shape: Any = None) -> None:
        """Creates the tables."""
        for table in self.tables:
            table.build(input_shape)
        super().build(input_shape)

    def lookup(self, relation_ids: tf.Tensor) -> list[tf.Tensor]:
        """Returns the raw rows `[batch, 4 * embedding_dim]` of each learned table."""
        return [table.lookup(relation_ids) for table in self.tables]

    def fold(self, rows: Sequence[tf.Tensor]) -> tf.Tensor:
        """Folds raw rows, as `lookup` returns them, into `w_r` `[batch, 4, embedding_dim]`."""
        relation, *rotations = [tf.reshape(row, [-1, 4, self.embedding_dim]) for row in rows]
        folded = normalize(relation) if self.normalize_relations else relation
        units = iter([normalize(rotation) for rotation in rotations])
        if self.head_rotation is not None:
            folded = hamilton_product(next(units), folded)
        if self.tail_rotation is not None:
            folded = hamilton_product(folded, conjugate(next(units)))
        return folded

    def folded(self) -> tf.Tensor:
        """Returns `w_r` of every relation, `[num_relations, 4, embedding_dim]`, for inference."""
        return self.fold([table.embeddings.value for table in self.tables])

    def tail_queries(self, heads: tf.Tensor, relations: tf.Tensor) -> tf.Tensor:
        """Returns `h ⊗ w_r` `[batch, 4, embedding_dim]` for heads like it and ids `[batch]`."""
        return hamilton_product(heads, self._rotations(relations))

    def head_queries(self, relations: tf.Tensor, tails: tf.Tensor) -> tf.Tensor:
        """Returns `t ⊗ conj(w_r)` `[batch, 4, embedding_dim]`: the adjoint, for tails like it."""
        return hamilton_product(tails, conjugate(self._rotations(relations)))

    def _rotations(self, relation_ids: tf.Tensor) -> tf.Tensor:
        """Returns `w_r` `[batch, 4, embedding_dim]` in the dtype of the tables; folds each once."""
        return gather_distinct(lambda ids: self.fold(self.lookup(ids)), relation_ids)

    def call(self, relation_ids: tf.Tensor) -> tf.Tensor:
        """Returns `w_r` `[batch, 4, embedding_dim]` in the compute dtype for ids `[batch]`."""
        return tf.cast(self._rotations(relation_ids), self.compute_dtype)

    def compute_output_shape(self, input_shape: Any) -> tuple:
        """Returns `(*input_shape, 4, embedding_dim)`."""
        return (*input_shape, 4, self.embedding_dim)

    def get_config(self) -> dict:
        """Returns the constructor's arguments."""
        return {
            **super().get_config(),
            "num_relations": self.num_relations,
            "embedding_dim": self.embedding_dim,
            "variant": self.variant,
            "normalize_relations": self.normalize_relations,
            "embeddings_initializer": keras.initializers.serialize(self.embeddings_initializer),
        }
