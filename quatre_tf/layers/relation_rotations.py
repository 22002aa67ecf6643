"""QuatRE, QuatE and an affine form: relations rotate quaternions, folded into one rotation each."""

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from quatre_tf.layers.score_function import ScoreFunction
from quatre_tf.quaternion import as_quaternions, as_rows, conjugate, hamilton_product, normalize
from quatre_tf.validation import check_choice

# Which of the rotations v_{r,1} (head) and v_{r,2} (tail) a variant learns; the others are 1.
_ROTATIONS = {
    "quatre": ("head_rotation", "tail_rotation"),
    "quate": (),
    "quatre_head": ("head_rotation",),
    "quatre_tail": ("tail_rotation",),
}
VARIANTS = tuple(_ROTATIONS)


@keras.saving.register_keras_serializable("quatre_tf")
class RelationRotations(ScoreFunction):
    """Folds the relation vector and its two rotations into `w_r`, and rotates entities by it.

    With `<|` for per-quaternion normalization, the paper scores
    `((h ⊗ v_{r,1}<|) ⊗ v_r<|) · (t ⊗ v_{r,2}<|)`. Right multiplication by a unit quaternion is
    orthogonal and its adjoint is right multiplication by the conjugate, so the score equals
    `(h ⊗ w_r) · t = h · (t ⊗ conj(w_r))` with

        w_r = v_{r,1}<| ⊗ v_r<| ⊗ conj(v_{r,2}<|)

    The adjoint needs no unit length: with `normalize_relations=False` v_r enters as it is, and the
    identity holds for a w_r of any modulus (the rotations v_{r,1} and v_{r,2} stay unit).

    Args:
        num_relations: See `ScoreFunction`.
        embedding_dim: Quaternions per relation (`n` of the paper).
        variant: `"quatre"`; `"quate"` (no rotations); `"quatre_head"`, `"quatre_tail"` (only the
            head or only the tail rotation: ablations (i) and (ii) of the paper).
        normalize_relations: Whether v_r is normalized, as in the paper. Free moduli let a relation
            weigh the components of a score.

    Raises:
        ValueError: A size is not a positive integer, or the variant is unknown.

    Example:
        >>> layer = RelationRotations(num_relations=3, embedding_dim=8)
        >>> layer(tf.constant([0, 2])).shape
        TensorShape([2, 32])

    References:
        - Nguyen et al., QuatRE: Relation-Aware Quaternions for Knowledge Graph Embeddings, WWW 2022
    """

    entity_components = 4
    multilinear = True

    def __init__(
        self,
        num_relations: int,
        embedding_dim: int,
        variant: str = "quatre",
        normalize_relations: bool = True,
        **kwargs: Any,
    ):
        super().__init__(num_relations, embedding_dim, **kwargs)
        self.variant = check_choice("variant", variant, VARIANTS)
        self.normalize_relations = normalize_relations

    def relation_tables(self) -> dict[str, tuple[int, ...]]:
        """Returns the shapes of v_r and of the rotations that the variant learns."""
        return dict.fromkeys(("relation", *_ROTATIONS[self.variant]), (self.entity_width,))

    def fold(self, rows: Sequence[tf.Tensor]) -> tf.Tensor:
        """Returns `w_r` `[k, 4n]`."""
        names = ("relation", *_ROTATIONS[self.variant])
        quaternions = dict(zip(names, map(as_quaternions, rows), strict=True))
        folded = quaternions["relation"]
        if self.normalize_relations:
            folded = normalize(folded)
        if "head_rotation" in quaternions:
            folded = hamilton_product(normalize(quaternions["head_rotation"]), folded)
        if "tail_rotation" in quaternions:
            folded = hamilton_product(folded, conjugate(normalize(quaternions["tail_rotation"])))
        return as_rows(folded)

    def tail_queries(self, heads: tf.Tensor, folded: tf.Tensor) -> tf.Tensor:
        """Returns `h ⊗ w_r`."""
        return as_rows(hamilton_product(as_quaternions(heads), as_quaternions(folded)))

    def head_queries(self, tails: tf.Tensor, folded: tf.Tensor) -> tf.Tensor:
        """Returns `t ⊗ conj(w_r)`."""
        return as_rows(hamilton_product(as_quaternions(tails), conjugate(as_quaternions(folded))))


@keras.saving.register_keras_serializable("quatre_tf")
class AffineRotations(RelationRotations):
    """`(h ⊗ w_r + b_r) · t`: rotates entities as `RelationRotations`, then translates them.

    `b_r · t` is what a relation expects of its tails whatever the head. Queries for heads cannot
    have it, so heads are predicted through reciprocal relations only.

    References:
        - Guo and Kok, BiQUE: Biquaternionic Embeddings of Knowledge Graphs, EMNLP 2021, a related
          model with biquaternions
    """

    multilinear = False
    head_queries = ScoreFunction.head_queries

    def relation_tables(self) -> dict[str, tuple[int, ...]]:
        """Returns the shapes of the tables of `RelationRotations` and of `b_r`."""
        return {**super().relation_tables(), "translation": (self.entity_width,)}

    def fold(self, rows: Sequence[tf.Tensor]) -> tf.Tensor:
        """Returns `w_r` and `b_r` side by side, `[k, 8n]`."""
        *others, translations = rows
        return tf.concat([super().fold(others), translations], axis=-1)

    def tail_queries(self, heads: tf.Tensor, folded: tf.Tensor) -> tf.Tensor:
        """Returns `h ⊗ w_r + b_r`."""
        rotations, translations = tf.split(folded, 2, axis=-1)
        return super().tail_queries(heads, rotations) + translations
