"""Calibrated probabilities in the served graph, and the calibration file of a run.

    run_dir/calibration.json   a logistic curve per relation, and how good they are

`docs/calibration.md` says what such a probability means.
"""

import dataclasses
import hashlib
import json
import mmap
import pathlib
from typing import Any

import numpy as np
import tensorflow as tf

from quatre_tf.atomic_files import write_text
from quatre_tf.calibration import Curves
from quatre_tf.data.vocabulary import Vocabulary
from quatre_tf.errors import DataError
from quatre_tf.paths import BEST_MODEL

CALIBRATION = "calibration.json"
_VERSION = 1
# What JSON of others comes to: the last two are of numbers that no float holds, and of lists in
# lists without end.
_UNREADABLE = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    OverflowError,
    RecursionError,
)


class Calibration(tf.Module):
    """Turns scores into probabilities: `logistic(slope_r * score + intercept_r)`.

    Args:
        curves: Slope and intercept of each relation.
    """

    def __init__(self, curves: Curves):
        super().__init__(name="calibration")
        self._curves = tf.Variable(
            curves.relations, trainable=False, name="curves", dtype=tf.float32
        )

    def probabilities(self, scores: tf.Tensor, relations: tf.Tensor) -> tf.Tensor:
        """Returns `[batch]` float32 in [0, 1] for scores `[batch]` float32 and ids `[batch]`."""
        slopes, intercepts = tf.unstack(tf.gather(self._curves, relations), axis=1)
        return tf.sigmoid(slopes * scores + intercepts)


@dataclasses.dataclass(frozen=True, eq=False)
class Fitted:
    """What was fitted, how, and how good it is: the content of calibration.json.

    Attributes:
        curves: The curves.
        positives: `[num_relations]` int, positives of each relation that they were fitted on.
        num_negatives: Corrupted triples per positive.
        seed: Of the corrupted triples.
        cross_validation: Quality on the validation split: `{"folds", "logistic", "calibrated"}`.
    """

    curves: Curves
    positives: np.ndarray
    num_negatives: int
    seed: int
    cross_validation: dict[str, Any]


def save_calibration(fitted: Fitted, run_dir: pathlib.Path, relations: Vocabulary) -> None:
    """Writes calibration.json, which belongs to the best weights as they are now."""
    by_name = {
        name: {"positives": int(count), **_named(curve)}
        for name, count, curve in zip(
            relations.names, fitted.positives, fitted.curves.relations, strict=True
        )
    }
    facts = {
        "version": _VERSION,
        "model_sha256": _digest(run_dir),
        "positives": int(fitted.positives.sum()),
        "negatives_per_positive": fitted.num_negatives,
        "seed": fitted.seed,
        "cross_validation": fitted.cross_validation,
        "overall": _named(fitted.curves.overall),
        "relations": by_name,
    }
    text = json.dumps(facts, indent=2, ensure_ascii=False) + "\n"
    write_text(run_dir / CALIBRATION, text)


def load_calibration(run_dir: pathlib.Path, relations: Vocabulary) -> Calibration | None:
    """Reads the calibration of a run; None when it has none, or one of other weights.

    Weights and calibration are written one after the other: a run that is resumed, and has found
    better weights, holds for a while a calibration that is not theirs.

    Raises:
        DataError: The file is not what `save_calibration` wrote for these relations.
    """
    path = run_dir / CALIBRATION
    if not path.exists():
        return None
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        if facts["version"] != _VERSION:
            raise ValueError(f"expected version {_VERSION}, received {facts['version']!r}")
        curves = Curves(_curve(facts["overall"]), _curves(facts["relations"], relations))
        digest = facts["model_sha256"]
    except _UNREADABLE as error:
        raise DataError(
            f"Cannot read the calibration {path}: {error!r}. Delete it: without it, an export fits "
            "a new one."
        ) from error
    return Calibration(curves) if digest == _digest(run_dir) else None


def _named(curve: np.ndarray) -> dict[str, float]:
    return {"slope": float(curve[0]), "intercept": float(curve[1])}


def _curves(by_name: dict[str, dict[str, float]], relations: Vocabulary) -> np.ndarray:
    if by_name.keys() != set(relations.names):
        raise ValueError("the names of its relations are not those of the graph")
    return np.stack([_curve(by_name[name]) for name in relations.names])


def _curve(named: dict[str, float]) -> np.ndarray:
    curve = np.array([named["slope"], named["intercept"]], np.float64)
    if not (np.isfinite(curve).all() and curve[0] >= 0):
        raise ValueError(f"expected finite numbers and no negative slope, received {named}")
    return curve


def _digest(run_dir: pathlib.Path) -> str:
    with (
        (run_dir / BEST_MODEL).open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
    ):
        return hashlib.sha256(data).hexdigest()
