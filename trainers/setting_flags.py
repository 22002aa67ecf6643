"""Flags that several programs share: the settings of `TrainConfig`, and where data lie."""

import dataclasses
from collections.abc import Collection
from typing import Any

from absl import flags

from trainers import config as configs

_CHOICES = {
    "recipe": configs.RECIPES,
    "variant": configs.VARIANTS,
    "corruption": configs.CORRUPTIONS,
    "strategy": configs.STRATEGIES,
    "tie_policy": configs.TIE_POLICIES,
}
_HELP = {
    "recipe": "How to train.",
    "variant": "Which rotations are learned.",
    "corruption": "How the corrupted side is chosen.",
    "strategy": "tf.distribute strategy.",
    "tie_policy": "How equal scores count in ranks.",
    "embedding_dim": "Quaternions per embedding (n); 4n floats.",
    "num_negatives": "Corrupted triples per positive (s).",
    "batch_size": "Positives per step; 0 for |train| / 100.",
    "steps_per_epoch": "Steps that are called an epoch.",
    "epochs": "Epochs to train at the most.",
    "validate_every": "Epochs between validations.",
    "patience": "Validations without a better one to stop after; 0 for never.",
    "num_replicas": "Logical CPU devices of --strategy=mirrored.",
    "seed": "Of initialisation and batches.",
    "learning_rate": "Adagrad's learning rate.",
    "l2": "Weight of the batch L2 (lambda).",
    "clip_norm": "Bound of the global gradient norm; 0 for none.",
}


class SettingFlags:
    """A flag for each setting of `TrainConfig` but the data set; left out, it is the preset's.

    Args:
        without: Settings that the program decides in another way.
    """

    def __init__(self, without: Collection[str] = ()):
        fields = {f.name: f for f in dataclasses.fields(configs.TrainConfig) if f.name in _HELP}
        self._flags = [_define(f) for name, f in fields.items() if name not in without]

    def given(self) -> dict[str, Any]:
        """Returns the settings that are on the command line."""
        return {flag.name: flag.value for flag in self._flags if flag.value is not None}


class DataFlags:
    """--data_dir and --manual_dir."""

    def __init__(self) -> None:
        self._data_dir = flags.DEFINE_string(
            "data_dir", None, "Where prepared data sets are kept (TFDS)."
        )
        self._manual_dir = flags.DEFINE_string(
            "manual_dir", None, "Folder with archives already at hand. Default: $QUATRE_MANUAL_DIR."
        )

    def given(self) -> dict[str, str | None]:
        """Returns the keyword arguments that `datasets.catalog.load` wants."""
        return {"data_dir": self._data_dir.value, "manual_dir": self._manual_dir.value}


def _define(field: dataclasses.Field) -> flags.FlagHolder:
    text = _HELP[field.name]
    if field.name in _CHOICES:
        return flags.DEFINE_enum(field.name, None, _CHOICES[field.name], text)
    if isinstance(field.default, int):
        return flags.DEFINE_integer(field.name, None, text)
    return flags.DEFINE_float(field.name, None, text)
