"""Imports tables of embeddings in an .npz file as a run.

Usage: quatre import-embeddings --tables=FILE.npz --model=NAME --dataset=NAME|PATH --run_dir=DIR

The arrays are named as in docs/systems.md. The names of their rows are in the arrays
`entity_names` and `relation_names`, or in the text files --entity_names and --relation_names.
Then use the run with evaluate, predict and export; docs/importing.md has an example.
"""

import dataclasses

from absl import flags

from datasets.data_flags import DataFlags
from datasets.program import import_tensorflow, run_program
from quatre_tf.errors import ConfigError
from quatre_tf.paths import user_path
from trainers import setting_flags
from trainers.training.config import TrainConfig

# Settings of the model that its tables do not show.
_OPTIONS = ("model", "norm", "structure", "normalize_relations", "reciprocal")

_TABLES = flags.DEFINE_string("tables", None, "The .npz file with the tables.", required=True)
_ENTITY_NAMES = flags.DEFINE_string(
    "entity_names", None, "Text file with the names of the rows of `entity`, one per line."
)
_RELATION_NAMES = flags.DEFINE_string("relation_names", None, "The same for relations.")
_RUN_DIR = flags.DEFINE_string("run_dir", None, "Folder of the new run.", required=True)
_DATA = DataFlags()
_SETTINGS = setting_flags.SettingFlags(
    without={field.name for field in dataclasses.fields(TrainConfig)} - set(_OPTIONS)
)


def main() -> None:
    """Translates the flags; see `trainers.importing.imported_run.import_embeddings`."""
    dataset = _DATA.checked_dataset()
    settings = _SETTINGS.given()
    if "model" not in settings:
        raise ConfigError("--model must name the model that the tables are of.")
    tables = setting_flags.existing_file(_TABLES)
    given = [flag for flag in (_ENTITY_NAMES, _RELATION_NAMES) if flag.value]
    if len(given) == 1:
        raise ConfigError("Give both --entity_names and --relation_names, or neither.")
    names = [setting_flags.existing_file(flag) for flag in given]

    import_tensorflow()
    from trainers.importing.imported_run import import_embeddings

    run_dir = user_path(_RUN_DIR.value)
    print(import_embeddings(tables, dataset, run_dir, settings, names, **_DATA.given()))


if __name__ == "__main__":
    run_program(main)
