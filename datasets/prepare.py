"""Prepares a custom data set: reads and splits triples, and reports problems.

Usage: quatre prepare --input=facts.csv --labels=names.csv --output=data/facts

Reads .txt, .tsv and .csv, whose format is detected, and RDF: .nt, .ttl, .nq, .trig, .rdf and .owl.
Each may be compressed (.gz).
"""

import shlex

from absl import flags

from datasets.program import place_in_help, run_program

_INPUT = flags.DEFINE_string(
    "input",
    None,
    "A file, - for standard input, or a folder. Splits train, valid and test in a folder are kept; "
    "otherwise all its files are read as triples.",
    required=True,
)
_OUTPUT = flags.DEFINE_string("output", None, "The folder to write.", required=True)
_LABELS = flags.DEFINE_string(
    "labels", None, "File with a name and a label per line. Default: labels.* in the folder."
)
_DELIMITER = flags.DEFINE_string(
    "delimiter", None, "tab, comma, semicolon, bar, space or a character."
)
_COLUMNS = flags.DEFINE_list(
    "columns",
    None,
    "Order of the columns, for example head,tail,relation; or the columns of head, relation and "
    "tail, by their names in the header or by numbers from 1.",
)
_HEADER = flags.DEFINE_bool("header", None, "Whether the first line names the columns.")
_STRIP = flags.DEFINE_bool("strip", False, "Strip spaces around names.")
_KEEP_LITERALS = flags.DEFINE_bool("keep_literals", False, "Read RDF literals as entities.")
_SPLIT = flags.DEFINE_enum(
    "split",
    None,
    ("leakage_aware", "random"),
    "leakage_aware keeps inverse and duplicate facts together and every name in train; random does "
    "not. Default: the splits of the folder, or leakage_aware.",
)
_VALID_SHARE = flags.DEFINE_float("valid_share", 0.1, "Share of the triples for validation.")
_TEST_SHARE = flags.DEFINE_float("test_share", 0.1, "Share of the triples for the test split.")
_SEED = flags.DEFINE_integer("seed", 1, "Seed of the split.", 0)
_OVERWRITE = flags.DEFINE_bool("overwrite", False, "Replace a data set prepared earlier.")
for _name in ("input", "labels", "delimiter", "columns", "header", "strip", "keep_literals"):
    place_in_help(_name, "input", is_basic=_name != "keep_literals")
for _name in ("split", "valid_share", "test_share", "seed"):
    place_in_help(_name, "split")
for _name in ("output", "overwrite"):
    place_in_help(_name, "output")


def main() -> None:
    """Translates the flags; see `datasets.custom_dataset.prepare`."""
    from datasets.custom_dataset import prepare
    from datasets.graph_report import description_text
    from datasets.readers.input_files import Source
    from datasets.readers.text_format import Format
    from datasets.splitting import SplitOptions

    known = Format(_DELIMITER.value, _COLUMNS.value, _HEADER.value, _STRIP.value)
    source = Source(_INPUT.value, _LABELS.value, known, _KEEP_LITERALS.value)
    asked = any(flag.present for flag in (_SPLIT, _VALID_SHARE, _TEST_SHARE, _SEED))
    split = SplitOptions(
        _SPLIT.value or "leakage_aware", _VALID_SHARE.value, _TEST_SHARE.value, _SEED.value
    )
    facts = prepare(source, _OUTPUT.value, split if asked else None, overwrite=_OVERWRITE.value)
    print("\n".join(facts["preparation"]["read"]), end="\n\n")
    print(description_text(facts), end="\n\n")
    print(f"Written to {_OUTPUT.value}. To train:")
    print(f"  quatre fit --dataset={shlex.quote(_OUTPUT.value)}")


if __name__ == "__main__":
    run_program(main)
