"""Imports embeddings of OpenKE, or of the reference implementation, as a run.

Usage: quatre import-openke --weights=FILE.json --dataset=NAME|PATH
--entity2id=FILE --relation2id=FILE --run_dir=DIR

Then use the run with evaluate, predict and export; docs/importing.md has an example.
"""

from absl import flags

from datasets.data_flags import DataFlags
from datasets.program import import_tensorflow, run_program
from quatre_tf.paths import user_path
from trainers import setting_flags

_WEIGHTS = flags.DEFINE_string(
    "weights", None, "JSON file of the embeddings: QuatRE.json or QuatE.json.", required=True
)
_ENTITY2ID = flags.DEFINE_string("entity2id", None, "OpenKE's entity2id.txt.", required=True)
_RELATION2ID = flags.DEFINE_string("relation2id", None, "OpenKE's relation2id.txt.", required=True)
_RUN_DIR = flags.DEFINE_string("run_dir", None, "Folder of the new run.", required=True)
_DATA = DataFlags()


def main() -> None:
    """Translates the flags; see `trainers.importing.imported_run.import_openke`."""
    dataset = _DATA.checked_dataset()
    files = map(setting_flags.existing_file, (_WEIGHTS, _ENTITY2ID, _RELATION2ID))
    weights, entity2id, relation2id = files

    import_tensorflow()
    from trainers.importing.imported_run import import_openke

    imported = import_openke(
        weights,
        dataset,
        entity2id,
        relation2id,
        user_path(_RUN_DIR.value),
        **_DATA.given(),
    )
    print(imported)


if __name__ == "__main__":
    run_program(main)
