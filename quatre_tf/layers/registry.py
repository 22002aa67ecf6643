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
        multilinear: As the class attribute, here without importing it.
    """

    path: str
    fixed: Mapping[str, Any] = {}
    options: tuple[str, ...] = ()
    multilinear: bool = False


_ROTATIONS = "quatre_tf.layers.relation_rotations:"


def _rotations(variant: str) -> Entry:
    path, fixed = _ROTATIONS + "RelationRotations", {"variant": variant}
    return Entry(path, fixed, ("normalize_relations",), multilinear=True)


SCORE_FUNCTIONS: dict[str, Entry] = {
    "quatre": _rotations("quatre"),
    "quate": _rotations("quate"),
    "quatre_head": _rotations("quatre_head"),
    "quatre_tail": _rotations("quatre_tail"),
    "quatre_affine": Entry(_ROTATIONS + "AffineRotations", {}, ("normalize_relations",)),
    "distmult": Entry("quatre_tf.layers.bilinear:DistMult", multilinear=True),
    "complex": Entry("quatre_tf.layers.bilinear:ComplEx", multilinear=True),
    "rescal": Entry("quatre_tf.layers.bilinear:RESCAL", multilinear=True),
    "autosf": Entry("quatre_tf.layers.autosf:AutoSF", {}, ("structure",), multilinear=True),
    "transe": Entry("quatre_tf.layers.transe:TransE", {}, ("norm",)),
    "rotate": Entry("quatre_tf.layers.rotate:RotatE", {}, ("norm",)),
    "toruse": Entry("quatre_tf.layers.toruse:TorusE", {}, ("norm",)),
    "transr": Entry("quatre_tf.layers.projections:TransR", {}, ("relation_dim",)),
    "stranse": Entry("quatre_tf.layers.projections:STransE", {}, ("norm",)),
    "murp": Entry("quatre_tf.layers.murp:MuRP"),
    "conve": Entry(
        "quatre_tf.layers.conve:ConvE",
        {},
        ("num_filters", "input_dropout", "feature_map_dropout", "hidden_dropout"),
    ),
    "convkb": Entry("quatre_tf.layers.convkb:ConvKB", {}, ("num_filters",)),
}


def score_function_class(name: str) -> Any:  # Of a ScoreFunction, whose module imports TensorFlow.
    """Returns the class of a score function by name.

    Raises:
        ValueError: The name is unknown.
    """
    entry = SCORE_FUNCTIONS[check_choice("score_function", name, tuple(SCORE_FUNCTIONS))]
    module, class_name = entry.path.split(":")
    return getattr(importlib.import_module(module), class_name)


def make_score_function(
    name: str, num_relations: int, embedding_dim: int, /, **arguments: Any
) -> Any:
    """Returns a score function by name.

    Args:
        name: One of `SCORE_FUNCTIONS`.
        num_relations: Rows of its tables.
        embedding_dim: Components per embedding.
        **arguments: Further constructor arguments of its class.

    Raises:
        ValueError: The name is unknown.
    """
    cls = score_function_class(name)
    return cls(num_relations, embedding_dim, **{**SCORE_FUNCTIONS[name].fixed, **arguments})
