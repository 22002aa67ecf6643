"""Trains QuatRE on a data set, evaluates it on the test split and exports it.

Usage: python -m trainers.fit --dataset=wn18rr

Flags left out take the preset of the data set and recipe (the settings of the reference
implementation for the paper's four benchmarks). Ctrl-C saves a checkpoint; --resume goes on.
"""

import dataclasses
import pathlib
import sys
import time
from collections.abc import Sequence
from typing import Any

from absl import flags

from datasets import catalog
from datasets.program import import_tensorflow, run_program
from trainers import config as configs
from trainers.errors import ConfigError

_DATASET = flags.DEFINE_string(
    "dataset",
    None,
    "wn18rr, fb15k237, wn18, fb15k, umls, kinship, nations, countries, or the path of a folder "
    "with train.txt, valid.txt and test.txt (head TAB relation TAB tail).",
)
_RECIPE = flags.DEFINE_enum("recipe", None, configs.RECIPES, "How to train.")
_RUN_DIR = flags.DEFINE_string(
    "run_dir", None, "Where the run is kept. Default: runs/DATASET-RECIPE-TIME."
)
_RESUME = flags.DEFINE_bool("resume", False, "Go on with the run in --run_dir.")
_DATA_DIR = flags.DEFINE_string("data_dir", None, "Where prepared data sets are kept (TFDS).")
_MANUAL_DIR = flags.DEFINE_string(
    "manual_dir", None, "Folder with archives already at hand. Default: $QUATRE_MANUAL_DIR."
)

# Settings of TrainConfig; None stands for the preset's value.
flags.DEFINE_enum("variant", None, configs.VARIANTS, "Which rotations are learned.")
flags.DEFINE_enum("corruption", None, configs.CORRUPTIONS, "How the corrupted side is chosen.")
flags.DEFINE_enum("strategy", None, configs.STRATEGIES, "tf.distribute strategy.")
flags.DEFINE_enum("tie_policy", None, configs.TIE_POLICIES, "How equal scores count in ranks.")
flags.DEFINE_integer("embedding_dim", None, "Quaternions per embedding (n); 4n floats.")
flags.DEFINE_integer("num_negatives", None, "Corrupted triples per positive (s).")
flags.DEFINE_integer("batch_size", None, "Positives per step; 0 for |train| / 100.")
flags.DEFINE_integer("steps_per_epoch", None, "Steps that are called an epoch.")
flags.DEFINE_integer("epochs", None, "Epochs to train at the most.")
flags.DEFINE_integer("validate_every", None, "Epochs between validations.")
flags.DEFINE_integer("patience", None, "Validations without a better one to stop after; 0: never.")
flags.DEFINE_integer("num_replicas", None, "Logical CPU devices of --strategy=mirrored.")
flags.DEFINE_integer("seed", None, "Of initialisation and batches.")
flags.DEFINE_float("learning_rate", None, "Adagrad's learning rate.")
flags.DEFINE_float("l2", None, "Weight of the batch L2 (lambda).")
flags.DEFINE_float("clip_norm", None, "Bound of the global gradient norm; 0 for none.")
_SETTINGS = [
    field.name
    for field in dataclasses.fields(configs.TrainConfig)
    if field.name not in ("dataset", "recipe")
]


def main(argv: Sequence[str]) -> int:
    """Translates the flags; see `fit`."""
    del argv
    given = {
        name: flags.FLAGS[name].value for name in _SETTINGS if flags.FLAGS[name].value is not None
    }
    given |= {k: f.value for k, f in (("dataset", _DATASET), ("recipe", _RECIPE)) if f.value}
    run_dir, config = _resolve(given)

    import_tensorflow()
    from trainers.fitting import fit

    try:
        fit(
            config,
            run_dir,
            resume=_RESUME.value,
            data_dir=_DATA_DIR.value,
            manual_dir=_MANUAL_DIR.value,
        )
    except KeyboardInterrupt:
        sys.stderr.write(
            f"Interrupted. To go on: python -m trainers.fit --run_dir={run_dir} --resume\n"
        )
        return 130
    return 0


def _resolve(given: dict[str, Any]) -> tuple[pathlib.Path, configs.TrainConfig]:
    if _RESUME.value:
        if _RUN_DIR.value is None:
            raise ConfigError("--resume needs --run_dir, the run to go on with.")
        run_dir = pathlib.Path(_RUN_DIR.value).expanduser()
        return run_dir, configs.resume(
            configs.TrainConfig.from_file(run_dir / "config.json"), given
        )
    if "dataset" not in given:
        raise ConfigError("--dataset is needed, for example --dataset=countries.")
    catalog.check(given["dataset"])
    config = configs.resolve(given.pop("dataset"), given.pop("recipe", "paper"), given)
    name = pathlib.Path(config.dataset).name
    default = f"runs/{name}-{config.recipe}-{time.strftime('%Y%m%d-%H%M%S')}"
    return pathlib.Path(_RUN_DIR.value or default).expanduser(), config


if __name__ == "__main__":
    run_program(main)
