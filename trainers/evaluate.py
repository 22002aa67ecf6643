"""Ranks the triples of a split with the best weights of a run, and says what the figures may claim.

Usage: python -m trainers.evaluate --run_dir=runs/wn18rr --output=test.json

docs/evaluation.md explains every figure.
"""

import json
from collections.abc import Sequence

from absl import flags

from datasets.program import import_tensorflow, run_program
from quatre_tf.atomic_files import output_file
from quatre_tf.data.candidate_sets import CANDIDATE_SETS
from quatre_tf.errors import ConfigError
from trainers.training.config import SETTINGS

_RUN_DIR = flags.DEFINE_string("run_dir", None, "A run of trainers.fit.", required=True)
_SPLIT = flags.DEFINE_enum("split", "test", ("train", "valid", "test"), "What to rank.")
_CANDIDATES = flags.DEFINE_list(
    "candidates", list(CANDIDATE_SETS), f"Candidate sets, of {', '.join(CANDIDATE_SETS)}."
)
_TIE_POLICY = flags.DEFINE_enum(
    "tie_policy", "realistic", SETTINGS["tie_policy"].choices, SETTINGS["tie_policy"].help
)
_COMPARE_RUN_DIR = flags.DEFINE_string(
    "compare_run_dir", None, "Another run on the same graph: is this one better, and how surely?"
)
_MEMORY_LIMIT_MB = flags.DEFINE_integer(
    "memory_limit_mb",
    None,
    "What ranking may take beside the model, in MiB. It needs little and the same at any limit; "
    "less than that is refused.",
    lower_bound=1,
)
_SEED = flags.DEFINE_integer("seed", 1, "Of intervals and p values.")
_OUTPUT = flags.DEFINE_string("output", None, "Also write the figures to this JSON file.")


def main(argv: Sequence[str]) -> None:
    """Translates the flags; see `quatre_tf.ranking.evaluation.evaluate_run`."""
    del argv
    candidates = _checked(_CANDIDATES.value)
    import_tensorflow()
    from datasets.progress import progress
    from quatre_tf.ranking import evaluation as evaluating
    from quatre_tf.run import load_trained
    from trainers.reporting import text as report
    from trainers.reporting.evaluation_text import whole_evaluation

    options = evaluating.Options(
        _SPLIT.value, _TIE_POLICY.value, candidates, _SEED.value, _MEMORY_LIMIT_MB.value, progress
    )
    other = load_trained(_COMPARE_RUN_DIR.value) if _COMPARE_RUN_DIR.value else None
    result = evaluating.evaluate_run(load_trained(_RUN_DIR.value), options, other)
    try:
        # First, because a reader of what is printed may leave early.
        if _OUTPUT.value:
            with output_file(_OUTPUT.value) as file:
                file.write(json.dumps(result, indent=2) + "\n")
    finally:
        # Whatever became of the file: the ranking took its time.
        print(whole_evaluation(result))
        print(report.peak_memory())


def _checked(names: Sequence[str]) -> tuple[str, ...]:
    """Returns the candidate sets in their usual order; ConfigError if there is none or another."""
    for name in names:
        if name not in CANDIDATE_SETS:
            raise ConfigError(
                f"Unknown candidate set {name!r} in --candidates. "
                f"Available: {', '.join(CANDIDATE_SETS)}."
            )
    if not names:
        raise ConfigError(f"--candidates needs at least one of {', '.join(CANDIDATE_SETS)}.")
    return tuple(name for name in CANDIDATE_SETS if name in names)


if __name__ == "__main__":
    run_program(main)
