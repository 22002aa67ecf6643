"""Flags that several programs share: the settings of `TrainConfig`, and where data lie."""

import dataclasses
from collections.abc import Collection, Sequence
from typing import Any

from absl import flags

from quatre_tf.errors import ConfigError
from trainers.training import config as configs

_HELP = {
    "recipe": "How to train: as the reference (paper, the default of trainers.fit), what ranks "
    "best (strong), or the same at a cost that does not grow with the entities (sampled).",
    "variant": "Which rotations are learned.",
    "reciprocal": "Ask for heads as tails of an inverse relation of its own.",
    "normalize_relations": "Normalise v_r, as in the paper.",
    "corruption": "How the corrupted side is chosen (paper).",
    "strategy": "tf.distribute strategy; those of many processes read TF_CONFIG.",
    "tie_policy": "How equal scores count in ranks.",
    "embedding_dim": "Quaternions per embedding (n); 4n floats.",
    "init_scale": "Standard deviation of the initial values; 0 for the reference's.",
    "num_negatives": "Corrupted triples per positive (paper).",
    "batch_size": "Positives per step, 0 for |train| / 100 (paper); queries, 0 for 1000 (strong, "
    "sampled).",
    "num_candidates": "Entities that the queries of a step are ranked among (sampled).",
    "steps_per_epoch": "Steps that are called an epoch; 0 for a pass over all queries (strong, "
    "sampled).",
    "epochs": "Epochs to train at the most.",
    "budget_minutes": "Wall time of the whole run, in place of --epochs and --validate_every.",
    "validate_every": "Epochs between validations.",
    "best_by": "Validation figure that chooses the weights.",
    "patience": "Validations without a better one to stop after; 0 for never.",
    "num_replicas": "Logical CPU devices of --strategy=mirrored.",
    "deterministic": "Ask TensorFlow for reproducible operations, for GPUs.",
    "seed": "Of initialisation and batches.",
    "learning_rate": "Adagrad's learning rate.",
    "lr_decay": "Whether the learning rate goes down to 0 at the end.",
    "l2": "Weight of the batch L2, lambda (paper).",
    "n3": "Weight of N3, in place of a preset's DURA if --dura is not given (strong, sampled).",
    "dura": "Weight of DURA, in place of a preset's N3 if --n3 is not given (strong, sampled).",
    "label_smoothing": "Share of a target's probability spread over all entities (strong).",
    "relation_prediction": "Weight of the auxiliary relation prediction (strong, sampled).",
    "compute_dtype": "Precision of the matrix products of training (strong, sampled).",
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


def seeds_of(texts: Sequence[str]) -> list[int]:
    """Returns the integers of --seeds.

    Raises:
        ConfigError: They are none.
    """
    try:
        return [int(text) for text in texts]
    except ValueError:
        received = ",".join(texts)
        raise ConfigError(f"--seeds must be integers: 1,2,3. Received: {received}.") from None


def _define(field: dataclasses.Field) -> flags.FlagHolder:
    text = _HELP[field.name]
    if field.name in configs.CHOICES:
        return flags.DEFINE_enum(field.name, None, configs.CHOICES[field.name], text)
    # A bool is an int, so it comes first.
    if isinstance(field.default, bool):
        return flags.DEFINE_bool(field.name, None, text)
    if isinstance(field.default, int):
        return flags.DEFINE_integer(field.name, None, text)
    return flags.DEFINE_float(field.name, None, text)
