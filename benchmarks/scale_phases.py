"""What `benchmarks.scale` measures of one size, in a process of its own."""

import pathlib
import time
from collections.abc import Callable
from typing import Any, TypeVar

from benchmarks import measure, synthetic_graph
from datasets.program import import_tensorflow
from trainers.training import presets

T = TypeVar("T")
_STEPS = 10
_TILE = 256


def measure_size(
    folder: pathlib.Path,
    reference: pathlib.Path,
    recipe: str,
    settings: dict[str, Any],
    rounds: int,
) -> dict[str, Any]:
    """Measures reading, storing, model, step and evaluation of a graph.

    Args:
        folder: The graph, as text.
        reference: A small graph, whose step is measured in turns with that of the large one.
        recipe: Recipe of the training.
        settings: Settings that differ from the recipe's preset.
        rounds: Measurements of the step and of the evaluation.
    """
    import_tensorflow()
    from datasets import catalog

    phases = Phases()
    graph = phases.time("read text", lambda: catalog.load(str(folder)))
    phases.time("save graph", lambda: graph.save(folder / "graph"))
    graph = phases.time("load graph", lambda: type(graph).load(folder / "graph"))
    trainer = phases.time("build model", lambda: _trainer(folder, graph, recipe, settings))
    phases.time("first step", lambda: trainer.train(1))
    small = _trainer(reference, catalog.load(str(reference)), recipe, settings)
    steps = {
        "step": lambda: trainer.train(_STEPS),
        "step, reference": lambda: small.train(_STEPS),
    }
    times = measure.interleaved(steps, rounds=rounds)
    figures = {name: value / _STEPS for name, value in times.items()}
    evaluation = _evaluation(phases, graph, trainer.model, rounds)
    tables = _table_bytes(trainer)
    return {
        "entities": graph.num_entities,
        "train_triples": len(graph.train),
        "triples_per_step": [trainer.recipe.triples_per_step, small.recipe.triples_per_step],
        "seconds": phases.seconds,
        "peak_bytes": phases.peaks,
        "milliseconds": figures | evaluation,
        "ratios": {
            "step / reference": figures["step"] / figures["step, reference"],
            "evaluation / products": evaluation["evaluation tile"] / evaluation["products"],
            "peak / tables": (phases.peaks["evaluate"] - phases.peaks["import"]) / tables,
        },
        "bytes": _index_bytes(graph) | {"tables": tables},
    }


class Phases:
    """Times things that are done once, and keeps the peak of memory after each.

    Attributes:
        seconds: By name of the phase.
        peaks: Peak resident memory of the process up to its end, in bytes.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.peaks: dict[str, int] = {"import": measure.peak_memory()}

    def time(self, name: str, call: Callable[[], T]) -> T:
        """Returns what the call returns."""
        start = time.perf_counter()
        result = call()
        self.seconds[name] = time.perf_counter() - start
        self.peaks[name] = measure.peak_memory()
        return result


def _trainer(folder: pathlib.Path, graph: Any, recipe: str, settings: dict[str, Any]) -> Any:
    import tensorflow as tf

    from trainers.training.trainer import Trainer

    config = presets.resolve(str(folder), recipe, settings)
    return Trainer(config, graph, tf.distribute.get_strategy())


def _evaluation(phases: Phases, graph: Any, model: Any, rounds: int) -> dict[str, float]:
    """Ranks one tile of queries a side; beside it are the products of as many with the table."""
    from quatre_tf.ranking.evaluator import Evaluator

    evaluator = phases.time("index known triples", lambda: Evaluator(graph))

    def evaluate() -> None:
        evaluator.evaluate(model, "test", max_triples=_TILE)

    phases.time("evaluate", evaluate)
    calls = {"evaluation tile": evaluate, "products": _products(model)}
    return {name: t / 2 for name, t in measure.interleaved(calls, rounds=rounds).items()}


def _products(model: Any) -> Callable[[], Any]:
    """Returns a call of two tiles of queries times the table, entity tile by entity tile."""
    import tensorflow as tf

    from quatre_tf.ranking.tiles import ENTITY_TILE

    table = tf.convert_to_tensor(model.entities.embeddings.value)
    queries = tf.random.normal([table.shape[1], _TILE])

    @tf.function
    def products() -> tf.Tensor:
        total = tf.constant(0.0)
        for start in tf.range(0, table.shape[0], ENTITY_TILE):
            tf.autograph.experimental.set_loop_options(parallel_iterations=1)
            rows = table[start : tf.minimum(start + ENTITY_TILE, table.shape[0])]
            total += tf.linalg.matmul(rows, queries)[0, 0]
        return total

    return lambda: (products().numpy(), products().numpy())


def _table_bytes(trainer: Any) -> int:
    """Returns the bytes of all tables and of Adagrad's accumulators."""
    return 2 * sum(4 * variable.shape.num_elements() for variable in trainer.model.weights)


def _index_bytes(graph: Any) -> dict[str, float]:
    from quatre_tf.data.vocabulary import as_strings
    from quatre_tf.ranking.sides import RankingSide

    known = sum(RankingSide.build(graph, side, ("all",)).nbytes for side in ("head", "tail"))
    names = as_strings(graph.entities.names).nbytes
    num_known = len(graph.train) + 2 * synthetic_graph.HELD_OUT
    return {
        "known triples, each": known / num_known,
        "vocabulary, each entity": names / graph.num_entities,
    }
