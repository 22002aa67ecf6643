"""Answers questions (head, relation, ?) and (?, relation, tail), and finds missing facts.

Usage: quatre predict --run_dir=DIR --head=Uruguay --relation=official_language --explain
       quatre predict --run_dir=DIR --queries=questions.tsv --format=csv --output=answers.csv
       quatre predict --run_dir=DIR --missing --relation=borders
       quatre predict --saved_model=DIR --head=Wakanda --relation=official_language

docs/predicting.md explains what is shown.
"""

import dataclasses
import functools

from absl import flags

from datasets.program import import_tensorflow, place_in_help, run_program
from datasets.progress import progress
from quatre_tf.errors import ConfigError
from quatre_tf.paths import user_path
from trainers.prediction.formats import FORMATS, write
from trainers.prediction.questions import make_question, make_questions, read_lines

_RUN_DIR = flags.DEFINE_string("run_dir", None, "A run of `quatre fit`.")
_SAVED_MODEL = flags.DEFINE_string(
    "saved_model",
    None,
    "Instead of --run_dir: a folder written by `quatre export` or `quatre add-entities`. It has "
    "added entities; questions must use names, not labels.",
)
_HEAD = flags.DEFINE_string("head", "", "Name or label of the head, to predict tails.")
_TAIL = flags.DEFINE_string("tail", "", "Name or label of the tail, to predict heads.")
_RELATION = flags.DEFINE_string("relation", "", "The relation.")
_QUERIES = flags.DEFINE_string(
    "queries",
    None,
    "File with one question per line: head TAB relation TAB ? or ? TAB relation TAB tail. Leave "
    "the field empty if an entity is called ?. Also .csv and .gz.",
)
_MISSING = flags.DEFINE_bool(
    "missing", False, "Show the most plausible facts of --relation that the graph lacks."
)
_TOP_K = flags.DEFINE_integer("top_k", 10, "How many answers.", 1, 2**31 - 1)
_INCLUDE_KNOWN = flags.DEFINE_bool("include_known", False, "Also show facts of the data set.")
_CANDIDATES = flags.DEFINE_enum(
    "candidates",
    None,
    ["all", "seen"],
    "all: every entity; seen: entities that train has in this slot of the relation. Default: "
    "all; with --missing, seen.",
)
_PROBABILITY = flags.DEFINE_enum(
    "probability",
    "even_odds",
    ["even_odds", "answer"],
    "Probability that the triple is true rather than corrupted (even_odds), or that the entity is "
    "an answer among all entities (answer).",
)
_EXPLAIN = flags.DEFINE_bool("explain", False, "Show similar known facts for each answer.")
_FORMAT = flags.DEFINE_enum("format", "table", FORMATS, "Output format.")
_OUTPUT = flags.DEFINE_string("output", None, "Write to this file instead of standard output.")
for _name in ("run_dir", "saved_model", "head", "relation", "tail", "queries", "missing"):
    place_in_help(_name, "question")
for _name in ("top_k", "include_known", "candidates", "probability", "explain"):
    place_in_help(_name, "answers", is_basic=_name not in ("candidates", "include_known"))
for _name in ("format", "output"):
    place_in_help(_name, "output")
_EXPLAINED = 3


def main() -> None:
    """Translates the flags; see `trainers.prediction.reports`."""
    _check_flags()
    # Before TensorFlow: a file that cannot be read is told at once.
    lines = read_lines(_QUERIES.value) if _QUERIES.value else []
    import_tensorflow()
    import tensorflow as tf

    from quatre_tf.runs.run import load_run
    from trainers.prediction.exported import Exported
    from trainers.prediction.predicting import Options, Predictor
    from trainers.prediction.reports import report_answers, report_missing

    candidates = _CANDIDATES.value or ("seen" if _MISSING.value else "all")
    explain = _EXPLAINED if _EXPLAIN.value else 0
    options = Options(_TOP_K.value, _INCLUDE_KNOWN.value, candidates, explain, _PROBABILITY.value)
    fields = _HEAD.value, _RELATION.value, _TAIL.value
    if _SAVED_MODEL.value:
        exported = Exported(user_path(_SAVED_MODEL.value))
        make = exported.question
        questions = make_questions(lines, make) if lines else [make(*fields)]
        write(exported.report(questions, options, bool(lines)), _FORMAT.value, _OUTPUT.value)
        return
    assert _RUN_DIR.value, "_check_flags"
    trained = load_run(_RUN_DIR.value)
    if _MISSING.value:
        report = report_missing(Predictor(trained, options), _RELATION.value)
    else:
        make = functools.partial(make_question, trained.graph)
        questions = make_questions(lines, make) if lines else [make(*fields)]
        predictor = Predictor(trained, options)
        if not lines:
            # Compiling takes longer than one answer; fitting probabilities, above, repays it.
            tf.config.run_functions_eagerly(True)
        report = report_answers(predictor, questions, titles=bool(lines))
        if _OUTPUT.value:  # Otherwise the answers themselves are to be seen.
            blocks = progress(report.blocks, "Answering", len(questions))
            report = dataclasses.replace(report, blocks=blocks)
    write(report, _FORMAT.value, _OUTPUT.value)


def _check_flags() -> None:
    """Raises ConfigError unless the flags say one thing to do."""
    if bool(_RUN_DIR.value) == bool(_SAVED_MODEL.value):
        raise ConfigError("Give either --run_dir, or --saved_model for an exported model.")
    if _SAVED_MODEL.value and (_MISSING.value or _EXPLAIN.value or _PROBABILITY.present):
        raise ConfigError("--missing, --explain and --probability need a run: give --run_dir.")
    given = [f"--{flag.name}" for flag in (_HEAD, _TAIL, _RELATION, _QUERIES) if flag.value]
    if _MISSING.value:
        given = [f"--{_MISSING.name}", *given]
    if _MISSING.value and _INCLUDE_KNOWN.value:
        raise ConfigError("--missing shows what is not known: leave --include_known out.")
    if given not in (
        ["--head", "--relation"],
        ["--tail", "--relation"],
        ["--queries"],
        ["--missing", "--relation"],
    ):
        raise ConfigError(
            "Give --relation and either --head or --tail, the other one is predicted; or --queries "
            f"with a file; or --missing and --relation. Received: {', '.join(given) or 'none'}."
        )


if __name__ == "__main__":
    run_program(main)
