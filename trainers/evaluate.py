"""Ranks the triples of a split with the best weights of a run.

Usage: python -m trainers.evaluate --run_dir=runs/wn18rr --split=test --output=test.json
"""

import json
import pathlib
from collections.abc import Sequence

from absl import flags

from datasets.program import import_tensorflow, run_program
from trainers.config import TIE_POLICIES

_RUN_DIR = flags.DEFINE_string("run_dir", None, "A run of trainers.fit.", required=True)
_SPLIT = flags.DEFINE_enum("split", "test", ("train", "valid", "test"), "What to rank.")
_TIE_POLICY = flags.DEFINE_enum("tie_policy", "realistic", TIE_POLICIES, "How equal scores count.")
_OUTPUT = flags.DEFINE_string("output", None, "Also write the figures to this JSON file.")


def main(argv: Sequence[str]) -> None:
    """Translates the flags."""
    del argv
    import_tensorflow()
    from saved_models.trained import load_trained
    from trainers import report
    from trainers.evaluator import Evaluator

    trained = load_trained(_RUN_DIR.value)
    result = Evaluator(trained.graph, _TIE_POLICY.value).evaluate(trained.model, _SPLIT.value)
    print(report.evaluation_table(result))
    if _OUTPUT.value:
        path = pathlib.Path(_OUTPUT.value)
        path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    run_program(main)
