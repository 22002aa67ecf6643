"""Completes (head, relation, ?) with tails, or (?, relation, tail) with heads.

Usage: python -m trainers.predict --run_dir=DIR --head=Uruguay --relation=official_language
"""

from collections.abc import Sequence

from absl import flags

from datasets.program import import_tensorflow, run_program
from trainers.errors import ConfigError

_RUN_DIR = flags.DEFINE_string("run_dir", None, "A run of trainers.fit.", required=True)
_HEAD = flags.DEFINE_string("head", None, "The head; its tails are asked.")
_TAIL = flags.DEFINE_string("tail", None, "The tail; its heads are asked.")
_RELATION = flags.DEFINE_string("relation", None, "The relation.", required=True)
_TOP_K = flags.DEFINE_integer("top_k", 10, "How many answers.", lower_bound=1)
_INCLUDE_KNOWN = flags.DEFINE_bool("include_known", False, "Also show facts of the data set.")


def main(argv: Sequence[str]) -> None:
    """Translates the flags; see `trainers.predicting.complete`."""
    del argv
    if (_HEAD.value is None) == (_TAIL.value is None):
        raise ConfigError("Give exactly one of --head and --tail; the other one is predicted.")

    import_tensorflow()
    from saved_models.trained import load_trained
    from trainers import predicting

    completions = predicting.complete(
        load_trained(_RUN_DIR.value),
        relation=_RELATION.value,
        head=_HEAD.value,
        tail=_TAIL.value,
        top_k=_TOP_K.value,
        include_known=_INCLUDE_KNOWN.value,
    )
    print(predicting.as_table(completions))


if __name__ == "__main__":
    run_program(main)
