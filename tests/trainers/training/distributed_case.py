"""One case for all strategies: what a few steps of training do, on however many processes."""

import dataclasses
import pathlib

import numpy as np

from quatre_tf import Evaluator, Graph, Vocabulary
from saved_models.scorer import Scorer
from saved_models.versions import export_scorer
from tests.trainers.conftest import SOFTMAX
from trainers.training import controller, fitting, strategies
from trainers.training.checkpoints import Checkpoints, RunState
from trainers.training.config import TrainConfig
from trainers.training.server_trainer import make_trainer

STEPS = 5
_COMMON = TrainConfig("random", embedding_dim=3, batch_size=9, num_negatives=2, l2=0.01, seed=3)
_SOFTMAX = {"num_negatives": 5, "l2": 0.5, **SOFTMAX}
_CONVE = {
    "model": "conve",
    "embedding_dim": 6,
    "num_filters": 3,
    "input_dropout": 0.0,
    "feature_map_dropout": 0.0,
    "hidden_dropout": 0.0,
    "normalize_relations": True,
    "relation_prediction": 0.0,
}
# A batch of 9, so that two replicas have different parts of it.
CONFIGS = {
    "paper": _COMMON,
    "strong": dataclasses.replace(_COMMON, recipe="strong", **_SOFTMAX),
    # By the sampled recipe, with statistics of batches besides. Masks of dropout depend on the
    # replica, so there is none.
    "conve": dataclasses.replace(
        _COMMON, recipe="sampled", num_candidates=7, **{**_SOFTMAX, **_CONVE}
    ),
}


def random_graph():
    """31 entities, which two servers cannot share evenly; 4 relations."""
    rng = np.random.default_rng(7)
    splits = [rng.integers(0, [31, 4, 31], [n, 3], np.int32) for n in (80, 20, 20)]
    names = [f"e{i}" for i in range(31)], [f"r{i}" for i in range(4)]
    return Graph("random", Vocabulary(names[0]), Vocabulary(names[1], "relation"), *splits)


def train(recipe, strategy, *, resumed_from=None, saved_to=None, best_to=None, at_once=0):
    """Takes five steps, and reports what came of them.

    Args:
        recipe: Of `CONFIGS`.
        strategy: A strategy.
        resumed_from: Folder of a checkpoint to go on from.
        saved_to: Folder to write a checkpoint to after the steps.
        best_to: Run folder to write the best model to after the steps, and its export.
        at_once: Steps that are taken after that in one call.

    Returns:
        `losses`, `regularizations` and `norms` [steps]; `tables-i`, `statistics-i`,
        `optimizer/SLOT-i` after the steps; `ranks` of the test split, which replicas share in one
        recipe only: it takes seconds to compile; `late`: the mean loss of the steps taken at once.
    """
    graph = random_graph()
    trainer = make_trainer(CONFIGS[recipe], graph, strategy)
    if resumed_from:
        Checkpoints(pathlib.Path(resumed_from), trainer, RunState()).restore()
    seen = [trainer.train(1) for _ in range(STEPS)]
    if saved_to:
        Checkpoints(pathlib.Path(saved_to), trainer, RunState()).save()
    if best_to:
        export_best(trainer, graph, pathlib.Path(best_to))
    ranked = {}
    shared = strategies.ranking_strategy(strategy)
    if recipe == "strong" or shared.num_replicas_in_sync == 1:
        ranks = Evaluator(graph, strategy=shared).rank(trainer.model, "test")
        ranked = {"ranks": [ranks.ranks("all", side) for side in ("head", "tail")]}
    return ranked | {
        "losses": [progress.loss for progress in seen],
        "regularizations": [progress.regularization for progress in seen],
        "norms": [progress.gradient_norm for progress in seen],
        **{
            f"{kind}-{i}": value.numpy()
            for kind, values in [
                ("tables", trainer.state["tables"]),
                ("statistics", trainer.state["statistics"]),
                *((f"optimizer/{name}", slot) for name, slot in trainer.state["optimizer"].items()),
            ]
            for i, value in enumerate(values)
        },
        "late": trainer.train(at_once).loss if at_once else 0.0,
    }


def export_best(trainer, graph, run_dir):
    """Writes the best model, loses it, and exports what is read again."""
    run_dir.mkdir()
    controller.save_best(trainer.model, run_dir)
    trained = [weight.numpy() for weight in trainer.model.weights]
    trainer.model.entities.replace(0, np.zeros_like(trained[0]))
    model = fitting.load_model(run_dir, into=trainer.model)
    for weight, value in zip(model.weights, trained, strict=True):
        np.testing.assert_array_equal(weight.numpy(), value)
    export_scorer(Scorer(model, graph), run_dir / "served")


def save_multi_worker(recipes, output):
    """The case in a process of a cluster; writes `output`-RECIPE.npz."""
    strategy = strategies.make_strategy("multi_worker", 1)
    for recipe in recipes:
        np.savez(f"{output}-{recipe}.npz", **train(recipe, strategy))


def save_parameter_server(recipes, output, **options):
    """The case on a cluster whose servers and workers are threads of this process."""
    # So that the small entity table is sharded, and the tables of the relations with it.
    strategies._MIN_SHARD_BYTES = 64
    cluster = strategies.Cluster.from_environment("parameter_server")
    servers = [
        strategies.make_server(cluster, job, index)
        for job in ("ps", "worker")
        for index in range(cluster.count(job))
    ]
    strategy = strategies.make_strategy("parameter_server", 1)
    for recipe in recipes:
        folders = {key: f"{folder}-{recipe}" for key, folder in options.items() if key != "at_once"}
        found = train(recipe, strategy, **(options | folders))
        np.savez(f"{output}-{recipe}.npz", **found)
    del servers
