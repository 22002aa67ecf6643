"""The score functions by name; reading it does not import TensorFlow.

To add one: a module with a `ScoreFunction` subclass, and a line here.
"""

import importlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from quatre_tf.validation import check_choice


class Entry(NamedTuple):
    """Where a score function is defined.

    Attributes:
        path: `module:class`.
        fixed: Constructor arguments that the name stands for.
        options: Constructor arguments that users may set.
    """

    path: str
    fixed: Mapping[str, Any] = {}
    options: tuple[str, ...] = ()


_ROTATIONS = "quatre_tf.layers.relation_rotations:RelationRotations"

SCORE_FUNCTIONS: dict[str, Entry] = {
    "quatre": Entry(_ROTATIONS, {"variant": "quatre"}, ("normalize_relations",)),
    "quate": Entry(_ROTATIONS, {"variant": "quate"}, ("normalize_relations",)),
    "quatre_head": Entry(_ROTATIONS, {"variant": "quatre_head"}, ("normalize_relations",)),
    "quatre_tail": Entry(_ROTATIONS, {"variant": "quatre_tail"}, ("normalize_relations",)),
    "distmult": Entry("quatre_tf.layers.distmult:DistMult"),
    "complex": Entry("quatre_tf.layers.complex:ComplEx"),
    "rescal": Entry("quatre_tf.layers.rescal:RESCAL"),
    "transe": Entry("quatre_tf.layers.transe:TransE", {}, ("norm",)),
}


def make_score_function(
    name: str, num_relations: int, embedding_dim: int, **arguments: Any
) -> Any:  # A ScoreFunction, whose module imports TensorFlow.
    """Returns a score function by name.

    Args:
        name: One of `SCORE_FUNCTIONS`.
        num_relations: Rows of its tables.
        embedding_dim: Components per embedding.
        **arguments: Further constructor arguments of its class.

    Raises:
        ValueError: The name is unknown.
    """
    entry = SCORE_FUNCTIONS[check_choice("score_function", name, tuple(SCORE_FUNCTIONS))]
    module, class_name = entry.path.split(":")
    cls = getattr(importlib.import_module(module), class_name)
    return cls(num_relations, embedding_dim, **{**entry.fixed, **arguments})
