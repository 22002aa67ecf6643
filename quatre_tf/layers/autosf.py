"""AutoSF: a bilinear product of blocks, whose structure was found by search."""

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from quatre_tf.layers.score_function import ScoreFunction
from quatre_tf.validation import describe

_BLOCKS = 4
# The published structures, as (head block, tail block, signed relation block).
STRUCTURES: dict[str, list[tuple[int, int, int]]] = {
    "fb15k237": [(1, 3, 1), (2, 2, 2), (3, 4, 3), (4, 1, 4)],
    "fb15k": [(1, 4, 1), (2, 3, 2), (3, 2, 3), (4, 1, 4), (1, 2, 2), (2, 1, 3)],
    "wn18rr": [
        *[(1, 2, 1), (2, 1, 2), (3, 3, 3), (4, 4, 4), (2, 2, 4), (1, 1, 4)],
        *[(4, 3, -1), (3, 4, -2), (4, 2, -2), (2, 4, -1)],
    ],
    "wn18": [
        *[(1, 4, 1), (2, 3, 2), (3, 2, 3), (4, 1, 4), (4, 3, -4), (3, 4, -1)],
        *[(1, 2, 2), (2, 1, 3), (3, 1, -3), (1, 3, -2)],
    ],
}


@keras.saving.register_keras_serializable("quatre_tf")
class AutoSF(ScoreFunction):
    """The sum of `± <h_a, r_c, t_b>` over the terms (a, b, ±c) of a structure.

    Rows are four blocks of `embedding_dim` floats, numbered from 1.

    Args:
        num_relations: See `ScoreFunction`.
        embedding_dim: Floats per block.
        structure: A name of `STRUCTURES`, or terms (head block, tail block, signed relation block).

    Raises:
        ValueError: The structure is unknown, empty, or has blocks that are not 1 to 4.

    References:
        - Zhang et al., AutoSF: Searching Scoring Functions for Knowledge Graph Embedding, ICDE 2020
    """

    entity_components = _BLOCKS
    multilinear = True

    def __init__(
        self,
        num_relations: int,
        embedding_dim: int,
        structure: str | Sequence[Sequence[int]] = "fb15k237",
        **kwargs: Any,
    ):
        super().__init__(num_relations, embedding_dim, **kwargs)
        self.structure = _terms(structure)

    def tail_queries(self, heads: tf.Tensor, folded: tf.Tensor) -> tf.Tensor:
        """Returns block b: the sum of `± h_a r_c` over the terms (a, b, ±c)."""
        return self._sum_terms(heads, folded, given=0, answer=1)

    def head_queries(self, tails: tf.Tensor, folded: tf.Tensor) -> tf.Tensor:
        """Returns block a: the sum of `± t_b r_c` over the terms (a, b, ±c)."""
        return self._sum_terms(tails, folded, given=1, answer=0)

    def _sum_terms(self, rows: tf.Tensor, folded: tf.Tensor, given: int, answer: int) -> tf.Tensor:
        entities, relations = (tf.split(part, _BLOCKS, axis=-1) for part in (rows, folded))
        blocks = [tf.zeros_like(entities[0])] * _BLOCKS
        for term in self.structure:
            product = entities[term[given] - 1] * relations[abs(term[2]) - 1]
            place = term[answer] - 1
            blocks[place] = blocks[place] + (product if term[2] > 0 else -product)
        return tf.concat(blocks, axis=-1)


def _terms(structure: Any) -> list[list[int]]:
    terms = STRUCTURES.get(structure, []) if isinstance(structure, str) else structure
    blocks = range(1, _BLOCKS + 1)
    valid = bool(terms) and all(
        len(term) == 3
        and all(isinstance(b, int) and abs(b) in blocks for b in term)
        and min(term[:2]) > 0
        for term in terms
    )
    if not valid:
        raise ValueError(
            f"`structure` must be one of {', '.join(STRUCTURES)}, or terms (head block, tail "
            f"block, signed relation block) with blocks 1 to {_BLOCKS}. "
            f"{describe('structure', structure)}"
        )
    return [list(term) for term in terms]
