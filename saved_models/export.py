"""Exports the best model of a run as a SavedModel for TensorFlow Serving.

Usage: quatre export --run_dir=runs/wn18rr --output=saved_models/exports/wn18rr

The signatures are described in `saved_models/README.md`.
"""

from absl import flags

from datasets.program import import_tensorflow, run_program

RUN_DIR = flags.DEFINE_string("run_dir", None, "A run of `quatre fit`.", required=True)
OUTPUT = flags.DEFINE_string(
    "output", None, "Folder of the served model; each export is a version in it.", required=True
)
VERSION = flags.DEFINE_integer(
    "version",
    None,
    "Number of the version; by default one more than the highest.",
    lower_bound=1,
    upper_bound=2**63 - 1,
)


def main() -> None:
    """Translates the flags."""
    import_tensorflow()
    from quatre_tf.runs.run import load_run
    from saved_models.calibrating import calibration_of, thresholds_of
    from saved_models.scorer import Scorer
    from saved_models.versions import export_scorer, exported_text

    trained = load_run(RUN_DIR.value)
    calibrated = calibration_of(trained), thresholds_of(trained)
    scorer = Scorer(trained.model, trained.graph, *calibrated)
    version = export_scorer(scorer, OUTPUT.value, VERSION.value)
    print(exported_text(version, trained.graph))


if __name__ == "__main__":
    run_program(main)
