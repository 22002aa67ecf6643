"""Times this project's side of a comparison, in a process of its own: see `benchmarks.peers`.

Usage: python -m benchmarks.peer_ours SETTINGS, where SETTINGS is a JSON object; prints one.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from benchmarks.trained_model import trained_model
from datasets import catalog
from quatre_tf.ranking.evaluator import Evaluator
from trainers.training import presets
from trainers.training.trainer import Trainer


def training(settings: dict[str, Any]) -> dict[str, Any]:
    """Times an epoch, input pipeline included, after some steps of the compiled loop."""
    config = presets.resolve(settings["dataset"], settings["recipe"], settings["given"])
    graph = catalog.load(settings["folder"])
    trainer = Trainer(config, graph, tf.distribute.get_strategy())
    trainer.train(settings["warm_up"])
    steps = trainer.recipe.steps_per_epoch
    start = time.perf_counter()
    trainer.train(steps)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "triples": steps * trainer.recipe.triples_per_step}


def evaluation(settings: dict[str, Any]) -> dict[str, Any]:
    """Times the ranking of the test split, both sides, when it is done for the second time."""
    graph = catalog.load(settings["folder"])
    model = trained_model(graph, settings["embedding_dim"], settings["epochs"])
    evaluator = Evaluator(graph)
    evaluator.evaluate(model, "test")
    start = time.perf_counter()
    evaluator.evaluate(model, "test")
    return {"seconds": time.perf_counter() - start, "triples": len(graph.test)}


_TASKS: dict[str, Callable] = {"training": training, "evaluation": evaluation}

if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    sys.stdout.write(json.dumps(_TASKS[given.pop("task")](given)) + "\n")
