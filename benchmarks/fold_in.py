"""Measures what an entity that was folded in is worth, beside one that was trained with.

Usage: python -m benchmarks.fold_in --dataset=fb15k237 --recipe=strong --work_dir=runs/fold_in

Entities are held out with all their triples, a model is trained without them, and all of them are
folded in from k of their train triples each. Their validation and test triples are then ranked
among all entities, filtered by the whole graph: once asking for the other entity, once for the held
out one. So are triples among the other entities, which the newcomers disturb as candidates. The
same triples are ranked by a model that was trained with everything.

Half of the entities serve to compare --target_ranks, by their validation triples. The other half,
and the test split, are for the reported table. A training that --work_dir holds is not repeated.
"""

import pathlib
from collections.abc import Sequence
from typing import Any

from absl import flags

from benchmarks import measure
from datasets.program import import_tensorflow, run_program

_DATASET = flags.DEFINE_string("dataset", "fb15k237", "Name or folder, as for trainers.fit.")
_MANUAL_DIR = flags.DEFINE_string("manual_dir", None, "Folder with archives already at hand.")
_RECIPE = flags.DEFINE_string("recipe", "paper", "Recipe of both trainings.")
_EMBEDDING_DIM = flags.DEFINE_integer("embedding_dim", 64, "Quaternions per embedding.")
_EPOCHS = flags.DEFINE_integer("epochs", None, "Epochs of both trainings; None: the preset's.")
_KS = flags.DEFINE_list("ks", "1,2,4,8,16", "Numbers of triples to fold an entity in from.")
_TARGET_RANKS = flags.DEFINE_list("target_ranks", "1,3,10,30,100", "Target ranks to compare.")
_NUM_ENTITIES = flags.DEFINE_integer("num_entities", 200, "Reported entities, and as many more.")
_SEED = flags.DEFINE_integer("seed", 1, "Of the choice of entities and triples.")
_WORK_DIR = flags.DEFINE_string("work_dir", None, "Where both runs are kept.", required=True)
_OUTPUT = flags.DEFINE_string("output", None, "JSON file to write.")


def main(argv: Sequence[str]) -> None:
    """Trains what is missing, measures and prints."""
    del argv
    import_tensorflow()
    from benchmarks import fold_in_quality as quality
    from datasets import catalog
    from trainers.training import presets

    ks = [int(k) for k in _KS.value]
    graph = catalog.load(_DATASET.value, manual_dir=_MANUAL_DIR.value)
    held_out = quality.hold_out(graph, _NUM_ENTITIES.value, max(ks), _SEED.value)
    given = {"embedding_dim": _EMBEDDING_DIM.value, "epochs": _EPOCHS.value}
    config = presets.resolve(
        _DATASET.value, _RECIPE.value, {k: v for k, v in given.items() if v is not None}
    )
    work_dir = pathlib.Path(_WORK_DIR.value).expanduser()
    without, trained_with = quality.train_both(config, graph, held_out, work_dir, _MANUAL_DIR.value)
    study = quality.Study(graph, held_out, without, _SEED.value)
    choice = {int(rank): study.choice(4, int(rank)) for rank in _TARGET_RANKS.value}
    print(f"\nValidation triples of {_NUM_ENTITIES.value} entities, 4 triples each")
    print(quality.table(choice, "target_rank"))
    rows: dict[Any, Any] = {0: study.baseline(), **{k: study.report(k) for k in ks}}
    rows |= {"all": study.report(None), "trained with": study.trained_with(trained_with)}
    print(f"\nValidation and test triples of {_NUM_ENTITIES.value} other entities")
    print(quality.table(rows, "k"))
    record = {
        "benchmark": "fold_in",
        "command": f"python -m benchmarks.fold_in --dataset={_DATASET.value} "
        f"--recipe={_RECIPE.value} --embedding_dim={_EMBEDDING_DIM.value} "
        f"--epochs={config.epochs} --seed={_SEED.value} --work_dir={_WORK_DIR.value}",
        "num_triples": study.num_triples,
        "choice": choice,
        "result": rows,
    }
    measure.write_json(_OUTPUT.value, record)


if __name__ == "__main__":
    run_program(main)
