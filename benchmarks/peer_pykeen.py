"""Times or trains a model of PyKEEN in the environment that `benchmarks.peers` has for it.

Usage: PYTHON -I benchmarks/peer_pykeen.py SETTINGS, where SETTINGS is a JSON object; prints one.
"""

import json
import pathlib
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from pykeen.evaluation import RankBasedEvaluator
from pykeen.hpo import hpo_pipeline
from pykeen.models import model_resolver
from pykeen.pipeline import pipeline
from pykeen.training import SLCWATrainingLoop
from pykeen.training.callbacks import TrainingCallback
from pykeen.triples import CoreTriplesFactory


class StepTimes(TrainingCallback):
    """Notes when each step is done."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float] = []

    def post_batch(self, **kwargs: Any) -> None:
        """Comes after the optimizer's step."""
        self.seconds.append(time.perf_counter())


def training(settings: dict[str, Any]) -> dict[str, Any]:
    """Times one epoch; its first steps, which warm up, and the making of its batches are left out.

    What the loop takes to make each batch is in it, as is the sampling of negatives.
    """
    splits, model = _load(settings)
    factory = _factory(splits)
    loop = SLCWATrainingLoop(
        model=model,
        triples_factory=factory,
        optimizer=torch.optim.Adagrad(model.get_grad_params(), lr=settings["learning_rate"]),
        negative_sampler_kwargs={"num_negs_per_pos": settings["num_negatives"]},
    )
    times, batch_size = StepTimes(), settings["batch_size"]
    loop.train(factory, 1, batch_size=batch_size, drop_last=True, use_tqdm=False, callbacks=[times])
    measured = times.seconds[settings["warm_up"] - 1 :]
    triples = (len(measured) - 1) * batch_size
    return {"seconds": measured[-1] - measured[0], "triples": triples}


def evaluation(settings: dict[str, Any]) -> dict[str, Any]:
    """Times the ranking of a sample of the test triples, both sides, after one batch of them."""
    splits, model = _load(settings)
    chosen = np.random.default_rng(0).permutation(len(splits["test"]))[: settings["num_triples"]]
    sample, batch_size = splits["test"][chosen], settings["batch_size"]
    evaluator = RankBasedEvaluator(filtered=True)

    def rank(triples: Any) -> None:
        evaluator.evaluate(
            model,
            triples,
            batch_size=batch_size,
            additional_filter_triples=list(splits.values()),
            use_tqdm=False,
        )

    rank(sample[:batch_size])
    start = time.perf_counter()
    rank(sample)
    return {"seconds": time.perf_counter() - start, "triples": len(sample)}


def defaults(settings: dict[str, Any]) -> dict[str, Any]:
    """Trains and evaluates as PyKEEN does where only the model is named."""
    graph = _split_factories(settings)
    result = pipeline(**graph, model=settings["model"], random_seed=1, use_tqdm=False)
    return {
        "seconds": result.train_seconds,
        "epochs": len(result.losses),
        "mrr": result.get_metric("both.realistic.inverse_harmonic_mean_rank"),
        "hits@10": result.get_metric("both.realistic.hits_at_10"),
    }


def search(settings: dict[str, Any]) -> dict[str, Any]:
    """Lets PyKEEN search for settings, which begins no trial after the minutes.

    The test figures are those of the trial with the best validation MRR.
    """
    graph, start = _split_factories(settings), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        found = hpo_pipeline(
            **graph,
            model=settings["model"],
            metric="both.realistic.inverse_harmonic_mean_rank",
            direction="maximize",
            timeout=settings["minutes"] * 60,
            save_model_directory=folder,
        )
        seconds, best = time.perf_counter() - start, found.study.best_trial
        saved = pathlib.Path(folder, str(best.number), "trained_model.pkl")
        model = torch.load(saved, weights_only=False)
    splits = [graph[name].mapped_triples for name in ("training", "validation")]
    figures = RankBasedEvaluator(filtered=True).evaluate(
        model, graph["testing"].mapped_triples, additional_filter_triples=splits, use_tqdm=False
    )
    return {
        "seconds": seconds,
        "trials": len(found.study.trials),
        "validation_mrr": best.value,
        "settings": best.params,
        "mrr": figures.get_metric("both.realistic.inverse_harmonic_mean_rank"),
        "hits@10": figures.get_metric("both.realistic.hits_at_10"),
    }


def _load(settings: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """Returns the ids of the splits as tensors, and a fresh model."""
    splits = _splits(settings)
    sizes = {"embedding_dim": settings["embedding_dim"], "random_seed": 1}
    factory = _factory(splits)
    return splits, model_resolver.make(settings["model"], triples_factory=factory, **sizes)


def _split_factories(settings: dict[str, Any]) -> dict[str, Any]:
    """Returns the splits as PyKEEN's pipelines take them."""
    splits = _splits(settings)
    return {
        name: _factory(splits, split)
        for name, split in (("training", "train"), ("validation", "valid"), ("testing", "test"))
    }


def _splits(settings: dict[str, Any]) -> dict[str, Any]:
    """Returns the ids of the splits as tensors."""
    torch.set_num_threads(settings["threads"])
    folder = pathlib.Path(settings["folder"])
    return {
        split: torch.from_numpy(np.loadtxt(folder / f"{split}.txt", dtype=np.int64, ndmin=2))
        for split in ("train", "valid", "test")
    }


def _factory(splits: dict[str, Any], split: str = "train") -> Any:
    ids = torch.cat(list(splits.values()))
    num_entities, num_relations = int(ids[:, [0, 2]].max()) + 1, int(ids[:, 1].max()) + 1
    return CoreTriplesFactory(splits[split], num_entities, num_relations)


_TASKS: dict[str, Callable] = {
    "training": training,
    "evaluation": evaluation,
    "defaults": defaults,
    "search": search,
}

if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    sys.stdout.write(json.dumps(_TASKS[given.pop("task")](given)) + "\n")
