"""Ranks or classifies a split with the best weights of a run, and prints metrics with intervals.

Usage: quatre evaluate --run_dir=runs/wn18rr --output=test.json
       quatre evaluate --run_dir=runs/codex-s --task=classification

docs/evaluation.md explains every figure.
"""

from absl import flags

from datasets.program import import_tensorflow, run_program
from quatre_tf.atomic_files import output_file
from quatre_tf.data.candidate_sets import CANDIDATE_SETS
from quatre_tf.errors import ConfigError
from trainers import setting_flags
from trainers.training.config import SETTINGS

_RUN_DIR = flags.DEFINE_string("run_dir", None, "A run of `quatre fit`.", required=True)
_TASK = flags.DEFINE_enum(
    "task",
    "ranking",
    ("ranking", "classification"),
    "Rank entities, or tell true triples from false.",
)
_SPLIT = flags.DEFINE_enum("split", "test", ("train", "valid", "test"), "Split to evaluate.")
_CANDIDATES = flags.DEFINE_list(
    "candidates", list(CANDIDATE_SETS), f"Candidate sets, any of {', '.join(CANDIDATE_SETS)}."
)
_TIE_POLICY = flags.DEFINE_enum(
    "tie_policy", "realistic", SETTINGS["tie_policy"].choices, SETTINGS["tie_policy"].help
)
_COMPARE_RUN_DIR = flags.DEFINE_string(
    "compare_run_dir", None, "Another run on the same graph, for paired differences."
)
_SEED = flags.DEFINE_integer("seed", 1, "Seed of intervals and p values.", 0)
_OUTPUT = flags.DEFINE_string("output", None, "Also write the figures to this JSON file.")


def main() -> None:
    """Translates the flags; see `evaluate_runs` and `evaluate_classification`."""
    candidates = setting_flags.candidate_sets_of(_CANDIDATES.value)
    if _TASK.value == "classification":
        unread = (_CANDIDATES, _TIE_POLICY, _COMPARE_RUN_DIR)
        if given := [f"--{holder.name}" for holder in unread if holder.present]:
            raise ConfigError(
                f"--task=classification does not use {' and '.join(given)}. Leave it out."
            )
    import_tensorflow()
    from datasets.progress import progress
    from quatre_tf.classification.evaluating import evaluate_classification
    from quatre_tf.ranking.evaluation import Options, evaluate_runs
    from quatre_tf.runs.run import load_run
    from trainers.reporting.classification_tables import classification_tables
    from trainers.reporting.evaluation_tables import evaluation_tables
    from trainers.reporting.formatting import peak_memory
    from trainers.reporting.rendering import as_text

    names = filter(None, (_RUN_DIR.value, _COMPARE_RUN_DIR.value))
    runs = {name: load_run(name) for name in names}
    if _TASK.value == "classification":
        (run,) = runs.values()
        results = evaluate_classification(
            run.model, run.graph, _SPLIT.value, seed=_SEED.value, progress=progress
        )
        tables = classification_tables(results)
    else:
        options = Options(_SPLIT.value, _TIE_POLICY.value, candidates, _SEED.value, progress)
        results = evaluate_runs(runs, options, _COMPARE_RUN_DIR.value)
        tables = evaluation_tables(results)
    try:
        # First, because a reader of what is printed may leave early.
        if _OUTPUT.value:
            with output_file(_OUTPUT.value) as file:
                file.write(results.to_json())
    finally:
        # Whatever became of the file: the evaluation took its time.
        print("\n\n".join(map(as_text, tables)))
        print(peak_memory())


if __name__ == "__main__":
    run_program(main)
