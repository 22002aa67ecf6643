"""Maps the keys of an OpenKE state dict to the tables of a model."""

import pathlib
from collections.abc import Mapping, Sequence

import numpy as np

from quatre_tf.errors import DataError

# github.com/daiquocnguyen/QuatRE, models/QuatRE.py: tables [rows, 4n], each row [r | i | j | k].
_QUATRE_NAMES = {
    "ent_embeddings.weight": "entity",
    "rel_embeddings.weight": "relation",
    "Whr.weight": "head_rotation",
    "Wtr.weight": "tail_rotation",
}
_QUATRE_KEYS = tuple(_QUATRE_NAMES)
# github.com/cheungdaven/QuatE, models/QuatE.py: a table [rows, n] a component, s x y z for our
# r i j k; its product and normalisation are those of QuatRE.
_QUATE_ENTITIES = tuple(f"emb_{component}_a.weight" for component in "sxyz")
_QUATE_RELATIONS = tuple(f"rel_{component}_b.weight" for component in "sxyz")
_QUATE_KEYS = (*_QUATE_ENTITIES, *_QUATE_RELATIONS)
# Also in these state dicts, but in no score: layers that QuatE makes and does not use, and the
# constants of a module (github.com/thunlp/OpenKE, openke/module/BaseModule.py).
_UNUSED_KEYS = frozenset(
    {"rel_w.weight", "fc.weight", "zero_const", "pi_const", "bn.weight", "bn.bias"}
    | {"bn.running_mean", "bn.running_var", "bn.num_batches_tracked"}
)


def embeddings_of(
    weights: Mapping[str, np.ndarray], path: pathlib.Path
) -> tuple[str, dict[str, np.ndarray]]:
    """Finds the tables of QuatRE, of its one-sided variants, or of QuatE.

    Args:
        weights: Arrays by key.
        path: Where they are from; used in messages.

    Returns:
        The name of the model; its tables, float32 `[rows, 4n]`, each row `[r | i | j | k]`, by the
        names of `quatre_tf.KGEModel.tables`.

    Raises:
        DataError: A key is missing or unknown, shapes do not fit together, or values are not
            finite.
    """
    is_quate = not weights.keys().isdisjoint(_QUATE_KEYS)
    keys = _QUATE_KEYS if is_quate else tuple(key for key in _QUATRE_KEYS if key in weights)
    missing = [key for key in (keys if is_quate else _QUATRE_KEYS[:2]) if key not in weights]
    # Without any rotation it is not QuatRE, perhaps TransE.
    if not is_quate and weights.keys().isdisjoint(_QUATRE_KEYS[2:]):
        missing.append(" or ".join(_QUATRE_KEYS[2:]))
    if missing:
        raise DataError(
            f"{path}: {', '.join(missing)} missing. Expected the tables of QuatRE "
            f"({', '.join(_QUATRE_KEYS)}; one of the last two may be missing) or of QuatE "
            f"({', '.join(_QUATE_KEYS)}), received {', '.join(weights) or 'none'}."
        )
    unknown = sorted(weights.keys() - set(keys) - _UNUSED_KEYS)
    if unknown:
        raise DataError(
            f"{path} holds {', '.join(unknown)} beside {', '.join(keys)}: this is another model "
            "than QuatRE and QuatE, and its scores would be wrong. Expected no other keys."
        )
    _check_tables(weights, keys, path)
    if is_quate:
        parts = [[weights[key] for key in part] for part in (_QUATE_ENTITIES, _QUATE_RELATIONS)]
        entities, relations = (np.concatenate(part, axis=1) for part in parts)
        return "quate", {"entity": entities, "relation": relations}
    variant = {_QUATRE_KEYS[:3]: "quatre_head", _QUATRE_KEYS: "quatre"}.get(keys, "quatre_tail")
    return variant, {_QUATRE_NAMES[key]: weights[key] for key in keys}


def _check_tables(
    weights: Mapping[str, np.ndarray], keys: Sequence[str], path: pathlib.Path
) -> None:
    """Expects tables of one width, which [r | i | j | k] divides by 4 in QuatRE's."""
    shapes = ", ".join(f"{key} {list(weights[key].shape)}" for key in keys)
    if any(weights[key].ndim != 2 for key in keys):
        raise DataError(f"{path}: expected tables [rows, width], received {shapes}.")
    widths = {weights[key].shape[1] for key in keys}
    if len(widths) > 1 or 0 in widths:
        raise DataError(f"{path}: expected tables of one width, received {shapes}.")
    if keys[0] in _QUATRE_NAMES and widths.pop() % 4:
        raise DataError(
            f"{path}: expected a width divisible by 4, [r | i | j | k], received {shapes}."
        )
