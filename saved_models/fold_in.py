"""Adds new entities to a trained model and exports it as the next version of a served one.

python -m saved_models.fold_in --run_dir=runs/wn18rr --triples=new.tsv \
    --output=saved_models/exports/wn18rr

Nothing is trained: each new entity gets an embedding from its triples, the others stay as they are.
The run is read and not changed, so --triples holds all new entities each time. docs/fold_in.md has
the method, and what it is worth after how many triples.
"""

from collections.abc import Sequence

from absl import flags

from datasets.program import import_tensorflow, run_program

_RUN_DIR = flags.DEFINE_string("run_dir", None, "A run of trainers.fit.", required=True)
_TRIPLES = flags.DEFINE_string(
    "triples",
    None,
    "File with lines head TAB relation TAB tail; of head and tail, one is new to the run.",
    required=True,
)
_OUTPUT = flags.DEFINE_string(
    "output", None, "Folder of the served model; the result is a version in it.", required=True
)
_VERSION = flags.DEFINE_integer(
    "version", None, "Number of the version; by default one more than the highest.", lower_bound=1
)
_TARGET_RANK = flags.DEFINE_integer(
    "target_rank",
    10,
    "The place that a new entity should reach where one of its triples is asked for. A lower one "
    "makes it bolder: better found where it belongs, and more often where it does not.",
    lower_bound=1,
)


def main(argv: Sequence[str]) -> None:
    """Translates the flags; see `saved_models.folding.fold_in`."""
    del argv
    from datasets.triples import read_triples

    # Before TensorFlow: a file that cannot be read is told at once.
    columns = read_triples(_TRIPLES.value).columns

    import_tensorflow()
    import numpy as np

    from quatre_tf.run import load_run
    from saved_models.calibrating import calibration_of
    from saved_models.exporting import export_scorer
    from saved_models.fold_report import describe
    from saved_models.folding import fold_in
    from saved_models.scorer import build_scorer

    trained = load_run(_RUN_DIR.value)
    triples = np.array([column.to_pylist() for column in columns], object).T
    folded = fold_in(trained, triples, target_rank=_TARGET_RANK.value, origin=_TRIPLES.value)
    scorer = build_scorer(folded.model, folded.graph, calibration_of(trained))
    print(describe(folded, trained.graph, scorer))
    print(f"Exported {export_scorer(scorer, _OUTPUT.value, _VERSION.value)}")


if __name__ == "__main__":
    run_program(main)
