"""RotatE: relations as rotations of complex numbers."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import keras
import tensorflow as tf

from quatre_tf.layers.bilinear import ComplEx
from quatre_tf.similarities import COMPLEX_MODULUS, EUCLIDEAN, Similarity
from quatre_tf.validation import check_choice


@keras.saving.register_keras_serializable("quatre_tf")
class RotatE(ComplEx):
    """The negative length of `h e^(i phase) - t`, complex numbers stored `[real | imaginary]`.

    The queries are those of ComplEx, for relations of modulus 1.

    Args:
        num_relations: See `ScoreFunction`.
        embedding_dim: Complex numbers per embedding.
        norm: 2: the Euclidean norm of the difference, as PyKEEN has it; 1: the sum of the moduli,
            as in the authors' code.

    References:
        - Sun et al., RotatE: Knowledge Graph Embedding by Relational Rotation in Complex Space,
          ICLR 2019
    """

    multilinear = False
    similarities: ClassVar[Mapping[int, Similarity]] = {1: COMPLEX_MODULUS, 2: EUCLIDEAN}

    def __init__(self, num_relations: int, embedding_dim: int, norm: int = 2, **kwargs: Any):
        super().__init__(num_relations, embedding_dim, **kwargs)
        self.norm = check_choice("norm", norm, tuple(self.similarities))
        self.similarity = self.similarities[norm]

    def relation_tables(self) -> dict[str, tuple[int, ...]]:
        """Returns the shape of the phases, in radians."""
        return {"phase": (self.embedding_dim,)}

    def table_initializer(self, name: str) -> Any:
        """Returns uniform phases, as the authors: near 0, each head would be its own best tail."""
        del name
        return keras.initializers.RandomUniform(-math.pi, math.pi)

    def fold(self, rows: Sequence[tf.Tensor]) -> tf.Tensor:
        """Returns `e^(i phase)`."""
        return tf.concat([tf.cos(rows[0]), tf.sin(rows[0])], axis=-1)
