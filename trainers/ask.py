"""Answers questions at a prompt; the run is loaded once.

Usage: quatre ask --run_dir=runs/countries

A question is head, relation and tail, separated by commas or TABs, with ? for the answer:
Egypt, official_language, ?
A name with a comma needs quotes: "Congo, Republic of the", borders, ?
An empty line or Ctrl-D ends the program.
"""

from absl import flags

from datasets.program import import_tensorflow, run_program

_RUN_DIR = flags.DEFINE_string("run_dir", None, "A run of `quatre fit`.", required=True)
_TOP_K = flags.DEFINE_integer("top_k", 5, "How many answers.", 1, 2**31 - 1)
_INCLUDE_KNOWN = flags.DEFINE_bool("include_known", False, "Also show facts of the data set.")


def main() -> None:
    """Translates the flags; see `trainers.prediction.prompt.converse`."""
    import_tensorflow()
    from quatre_tf.runs.run import load_run
    from trainers.prediction.predicting import Options
    from trainers.prediction.prompt import converse, typed_lines

    options = Options(_TOP_K.value, _INCLUDE_KNOWN.value)
    converse(load_run(_RUN_DIR.value), options, typed_lines())


if __name__ == "__main__":
    run_program(main)
