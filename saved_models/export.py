"""Exports the best model of a run as a SavedModel for TensorFlow Serving.

python -m saved_models.export --run_dir=runs/wn18rr --output=saved_models/exports/wn18rr

The signatures are described in `saved_models/README.md`. With a --precision below float32 it prints
what that saves and costs.
"""

import tempfile
from collections.abc import Sequence
from typing import TYPE_CHECKING

from absl import flags

from datasets.program import import_tensorflow, run_program

if TYPE_CHECKING:
    import pathlib

    from quatre_tf.run import Trained

_RUN_DIR = flags.DEFINE_string("run_dir", None, "A run of trainers.fit.", required=True)
_OUTPUT = flags.DEFINE_string(
    "output", None, "Folder of the served model; each export is a version in it.", required=True
)
_VERSION = flags.DEFINE_integer(
    "version", None, "Number of the version; by default one more than the highest.", lower_bound=1
)
_PRECISION = flags.DEFINE_enum(
    "precision",
    "float32",
    ["float32", "bfloat16", "int8"],
    "How numbers of the entity table are stored: in 4, 2 or 1 bytes.",
)


def main(argv: Sequence[str]) -> None:
    """Translates the flags."""
    del argv
    import_tensorflow()
    from quatre_tf.run import load_trained

    trained = load_trained(_RUN_DIR.value)
    path = _export(trained, _PRECISION.value, _OUTPUT.value, _VERSION.value)
    if _PRECISION.value != "float32":
        print(_comparison(trained, path))
    print(f"Exported {path}")


def _export(
    trained: "Trained", precision: str, output: str, version: int | None = None
) -> "pathlib.Path":
    from saved_models.calibrating import calibration_of
    from saved_models.exporting import export_scorer
    from saved_models.scorer import build_scorer

    scorer = build_scorer(trained.model, trained.graph, calibration_of(trained), precision)
    return export_scorer(scorer, output, version)


def _comparison(trained: "Trained", path: "pathlib.Path") -> str:
    """Returns a table of an export beside that in float32."""
    from saved_models.precision import comparison, measure_exports

    with tempfile.TemporaryDirectory() as folder:
        paths = {"float32": _export(trained, "float32", folder), _PRECISION.value: path}
        return comparison(measure_exports(paths, trained.graph))


if __name__ == "__main__":
    run_program(main)
