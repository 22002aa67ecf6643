"""Trains on a file of triples: splits it, trains, ranks the test split and exports.

Usage: python -m examples.train_own_tsv --triples=facts.tsv --output=runs/facts

This calls `quatre prepare` and `quatre fit` as functions; the programs have more options.
"""

import pathlib

from absl import flags

from datasets.program import import_tensorflow, run_program

_TRIPLES = flags.DEFINE_string(
    "triples", None, "One triple per line: head TAB relation TAB tail.", required=True
)
_OUTPUT = flags.DEFINE_string("output", None, "Folder of the splits and the run.", required=True)
_EPOCHS = flags.DEFINE_integer("epochs", 50, "Epochs of 100 steps.", lower_bound=1)


def main() -> None:
    """Prepares a data set from the file and trains on it."""
    from datasets.custom_dataset import Source, prepare
    from trainers.training import presets

    output = pathlib.Path(_OUTPUT.value)
    prepare(Source(_TRIPLES.value), output / "graph")

    import_tensorflow()
    from trainers.training.fitting import fit

    settings = {"epochs": _EPOCHS.value, "validate_every": min(10, _EPOCHS.value)}
    fit(presets.resolve(str(output / "graph"), "paper", settings), output / "run")


if __name__ == "__main__":
    run_program(main)
