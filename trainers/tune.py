"""Searches for the settings with the best validation metric.

Usage: quatre tune --dataset=wn18rr --output=runs/tune --recipe=sampled --trials=16
--budget_minutes=60 --seeds=1,2

Recipe paper: the grid of the paper. Other recipes: random configurations, pruned by successive
halving. Flags that you set are fixed for all trials; other settings take the
preset. The test split is not ranked. Ctrl-C saves a checkpoint; the same command continues.

Needs the extra `tune`: pip install 'quatre-tf[tune]'
"""

import dataclasses
import shlex
import sys

from absl import flags

from datasets import catalog
from datasets.data_flags import DataFlags
from datasets.program import import_tensorflow, place_in_help, require_extra, run_program
from quatre_tf.paths import output_folder
from trainers import setting_flags
from trainers.training.presets import default_recipe, replacement_note
from trainers.tuning.plan import Search

_OUTPUT = flags.DEFINE_string(
    "output", None, "Folder of the runs, trial-NUMBER-seedSEED, and of trials.csv.", required=True
)
_TRIALS = flags.DEFINE_integer(
    "trials", 0, "Maximum number of configurations; 0 for the whole grid, or 16 random ones."
)
_SEEDS = flags.DEFINE_list(
    "seeds",
    ["1"],
    "The first seed draws and trains all configurations; the others train the finalists.",
)
_FINALISTS = flags.DEFINE_integer(
    "finalists", 3, "Number of best configurations to train with all seeds."
)
_BUDGET_MINUTES = flags.DEFINE_float(
    "budget_minutes", 0.0, "Wall time of the whole search; 0 for no limit."
)
_DATA = DataFlags()
_SETTINGS = setting_flags.SettingFlags(
    without=("seed", "budget_minutes", "strategy", "num_replicas")
)
# The search varies them.
place_in_help("n3", "regularization", is_basic=False)


def main() -> None:
    """Translates the flags; see `trainers.tuning.search.run_search`."""
    dataset = _DATA.checked_dataset()
    settings = _SETTINGS.given()
    recipe = settings.pop("recipe", None) or default_recipe(dataset)
    if note := replacement_note(dataset, recipe, settings):
        sys.stderr.write(f"{note}\n")
    search = Search(
        dataset,
        recipe,
        settings,
        setting_flags.seeds_of(_SEEDS.value),
        _TRIALS.value,
        _FINALISTS.value,
        _BUDGET_MINUTES.value,
    )
    require_extra("The search", "tune", "optuna")

    import_tensorflow()
    import tensorflow as tf

    from trainers.tuning.search import run_search
    from trainers.tuning.table import search_text

    # Each trial traces a loop of its own, which TensorFlow would warn of as a mistake.
    tf.get_logger().setLevel("ERROR")
    graph = catalog.load(search.dataset, **_DATA.given())
    search = dataclasses.replace(search, num_entities=graph.num_entities)
    output = output_folder(_OUTPUT.value)
    results = run_search(search, graph, output, **_DATA.given())
    print(f"\n{search_text(search, results)}\n\nFigures:     {output / 'trials.csv'}")
    print(f"TensorBoard: tensorboard --logdir={shlex.quote(str(output))}")


if __name__ == "__main__":
    run_program(main, if_interrupted="The same command continues.")
