"""Trains models with the same flags and seeds, and compares them.

Usage: quatre compare --dataset=wn18rr --models=quatre,quate --seeds=3

Omitted flags take the preset. Ctrl-C saves a checkpoint; the same command continues.
"""

import pathlib
import sys

from absl import flags

from datasets.data_flags import DataFlags
from datasets.program import import_tensorflow, run_program
from quatre_tf.data.candidate_sets import CANDIDATE_SETS
from quatre_tf.paths import output_folder
from trainers import setting_flags
from trainers.comparison.plan import Comparison, chosen_seeds
from trainers.comparison.published import paper_models
from trainers.training.presets import check_lengths, default_recipe, replacement_note

_OUTPUT = flags.DEFINE_string(
    "output",
    None,
    "Folder of the runs, MODEL-seedSEED, and of comparison.json, .csv, .txt and .html. "
    "Default: runs/comparison-DATASET.",
)
_MODELS = flags.DEFINE_list(
    "models",
    ["quatre", "quatre_head", "quatre_tail", "quate"],
    "Models to compare; the first is the baseline. paper_table: the models of the "
    "paper's table for the data set, each with its own recipe unless --recipe is given.",
)
_SEEDS = flags.DEFINE_list(
    "seeds", ["1"], "Seeds to train each model with; a single number N means 1 to N."
)
_CANDIDATES = flags.DEFINE_list(
    "candidates", list(CANDIDATE_SETS), f"Candidate sets, any of {', '.join(CANDIDATE_SETS)}."
)
_DATA = DataFlags()
# The same for every run.
_SETTINGS = setting_flags.SettingFlags(without=("model", "seed", "strategy", "num_replicas"))


def main() -> None:
    """Translates the flags; see `trainers.comparison.run.run_comparison`."""
    dataset = _DATA.checked_dataset()
    settings = _SETTINGS.given()
    models, recipe = _MODELS.value, settings.pop("recipe", "")
    if models == ["paper_table"]:
        models = paper_models(dataset)
    else:
        recipe = recipe or default_recipe(dataset)
    if recipe and (note := replacement_note(dataset, recipe, settings)):
        sys.stderr.write(f"{note}\n")
    comparison = Comparison(
        dataset,
        models,
        chosen_seeds(_SEEDS.value),
        recipe,
        settings,
        setting_flags.candidate_sets_of(_CANDIDATES.value),
    )
    check_lengths(next(iter(comparison.configs().values())), settings)

    import_tensorflow()
    from trainers.comparison.run import run_comparison
    from trainers.comparison.text import comparison_text

    name = pathlib.Path(dataset).stem
    output = output_folder(_OUTPUT.value or f"runs/comparison-{name}")
    results = run_comparison(comparison, output, **_DATA.given())
    print(f"\n{comparison_text(comparison, results)}\n\nResults: {output / 'comparison.json'}")
    print(f"Page:    {output / 'comparison.html'}")


if __name__ == "__main__":
    run_program(main, if_interrupted="The same command continues.")
