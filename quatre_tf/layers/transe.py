"""TransE: relations as translations."""

from collections.abc import Mapping
from typing import Any, ClassVar

import keras
import tensorflow as tf

from quatre_tf.layers.score_function import ScoreFunction
from quatre_tf.similarities import EUCLIDEAN, MANHATTAN, Similarity
from quatre_tf.validation import check_choice


@keras.saving.register_keras_serializable("quatre_tf")
class TransE(ScoreFunction):
    """`-|h + r - t|`, by the L1 or L2 norm.

    Args:
        num_relations: See `ScoreFunction`.
        embedding_dim: See `ScoreFunction`.
        norm: 1 or 2.

    References:
        - Bordes et al., Translating Embeddings for Modeling Multi-relational Data, NIPS 2013
    """

    similarities: ClassVar[Mapping[int | str, Similarity]] = {1: MANHATTAN, 2: EUCLIDEAN}

    def __init__(self, num_relations: int, embedding_dim: int, norm: int | str = 1, **kwargs: Any):
        super().__init__(num_relations, embedding_dim, **kwargs)
        self.norm = check_choice("norm", norm, tuple(self.similarities))
        self.similarity = self.similarities[norm]

    def tail_queries(self, heads: tf.Tensor, folded: tf.Tensor) -> tf.Tensor:
        """Returns `h + r`."""
        return heads + folded

    def head_queries(self, tails: tf.Tensor, folded: tf.Tensor) -> tf.Tensor:
        """Returns `t - r`."""
        return tails - folded
