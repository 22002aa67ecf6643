"""TorusE: translations on a torus."""

from typing import Any, ClassVar

import keras

from quatre_tf.layers.transe import TransE
from quatre_tf.similarities import CHORD_TORUS, SQUARED_TORUS, TORUS


@keras.saving.register_keras_serializable("quatre_tf")
class TorusE(TransE):
    """The distance of `h + r` and `t` on a torus: whole numbers do not count.

    With delta the distance of each difference to the nearest integer, the score is
    `-2 sum delta` (L1), `-4 sum delta^2` (L2) or `-sum (2 - 2 cos(2 pi delta)) / 4` (eL2).

    Args:
        num_relations: See `ScoreFunction`.
        embedding_dim: See `ScoreFunction`.
        norm: 1, 2 or `"el2"`.

    References:
        - Ebisu and Ichise, TorusE: Knowledge Graph Embedding on a Lie Group, AAAI 2018
    """

    similarities: ClassVar = {1: TORUS, 2: SQUARED_TORUS, "el2": CHORD_TORUS}

    def __init__(
        self, num_relations: int, embedding_dim: int, norm: int | str = "el2", **kwargs: Any
    ):
        super().__init__(num_relations, embedding_dim, norm, **kwargs)
