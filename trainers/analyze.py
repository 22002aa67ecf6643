"""Writes the report of a run: a page of results, learning curves and a map of its entities.

Usage: quatre analyze --run_dir=runs/wn18rr --compare_run_dir=runs/wn18rr-quate

Needs the extra `analysis`: pip install 'quatre-tf[analysis]'
"""

from absl import flags

from datasets.program import import_tensorflow, require_extra, run_program
from quatre_tf.paths import user_path

_RUN_DIR = flags.DEFINE_string("run_dir", None, "A run of `quatre fit`.", required=True)
_COMPARE_RUN_DIR = flags.DEFINE_string(
    "compare_run_dir", None, "Another run on the same data set, to compare with."
)
_RELATIONS = flags.DEFINE_list(
    "relations",
    [],
    "Relations whose entities the map shows. Default: two that share few entities.",
)
_OUTPUT = flags.DEFINE_string("output", None, "Folder of the report. Default: RUN_DIR/report.")


def main() -> None:
    """Translates the flags; see `trainers.reporting.html_report.report.write_report`."""
    require_extra("The report", "analysis", "matplotlib", "sklearn")
    import_tensorflow()
    from trainers.reporting.html_report.report import write_report

    written = write_report(
        user_path(_RUN_DIR.value),
        user_path(_COMPARE_RUN_DIR.value) if _COMPARE_RUN_DIR.value else None,
        _RELATIONS.value,
        user_path(_OUTPUT.value) if _OUTPUT.value else None,
    )
    print(f"Report: {written}")


if __name__ == "__main__":
    run_program(main)
