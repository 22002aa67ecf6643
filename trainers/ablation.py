"""Trains the variants of the model alike and prints the paper's ablation (its Table 4).

Usage: python -m trainers.ablation --dataset=wn18rr --output=runs/ablation --seeds=1,2

Variants: the model, its head rotation only, its tail rotation only, and none (QuatE). Flags left
out take the preset. Ctrl-C saves a checkpoint; the same command goes on.
"""

import sys
from collections.abc import Sequence

from absl import flags

from datasets import catalog
from datasets.program import import_tensorflow, run_program
from quatre_tf.paths import user_path
from trainers import setting_flags
from trainers.ablation_plan import Ablation

_DATASET = flags.DEFINE_string(
    "dataset", None, "Name of a data set, or the path of a folder.", required=True
)
_OUTPUT = flags.DEFINE_string(
    "output", None, "Folder of the runs, VARIANT-seedSEED, and of ablation.json.", required=True
)
_VARIANTS = flags.DEFINE_list(
    "variants", ["quatre", "quatre_head", "quatre_tail", "quate"], "What to compare."
)
_SEEDS = flags.DEFINE_list("seeds", ["1"], "Seeds to train each variant with.")
_DATA = setting_flags.DataFlags()
# The budget, the same for every run.
_BUDGET = setting_flags.SettingFlags(without=("model", "seed", "strategy", "num_replicas"))


def main(argv: Sequence[str]) -> int:
    """Translates the flags; see `trainers.ablating.run_ablation`."""
    del argv
    catalog.check(_DATASET.value)
    settings = _BUDGET.given()
    recipe = settings.pop("recipe", "paper")
    ablation = Ablation(
        _DATASET.value, _VARIANTS.value, setting_flags.seeds_of(_SEEDS.value), recipe, settings
    )

    import_tensorflow()
    from trainers.ablating import run_ablation
    from trainers.ablation_table import ablation_text

    output = user_path(_OUTPUT.value)
    try:
        summary = run_ablation(ablation, output, **_DATA.given())
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted. The same command goes on.\n")
        return 130
    print(f"\n{ablation_text(summary)}\n\nFigures: {output / 'ablation.json'}")
    return 0


if __name__ == "__main__":
    run_program(main)
