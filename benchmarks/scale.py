"""Measures how time and memory grow with the number of entities, on random graphs.

Usage: python -m benchmarks.scale --entities=10000,1000000 [--output=FILE.json]

Each size runs in its own process, so its peak memory is its own. The process reads the graph from
text, saves and loads it, builds and trains the model for some steps, and ranks a tile of the test
split on both sides. The step takes turns with the step of a graph of 40,000 entities, the
evaluation with its matrix products.
"""

import pathlib
import tempfile
import time
from collections.abc import Callable
from typing import Any, TypeVar

from absl import flags

from benchmarks import measure
from benchmarks.random_graphs import write_zipf_graph
from datasets.program import import_tensorflow, run_program
from datasets.text_table import table
from trainers.training import presets

T = TypeVar("T")

_ENTITIES = flags.DEFINE_list(
    "entities", "10000,40000,200000,1000000,5000000", "Numbers of entities."
)
# The recipes whose step does not grow with the entities.
_RECIPE = flags.DEFINE_enum("recipe", "sampled", ("paper", "sampled"), "Recipe of the training.")
_EMBEDDING_DIM = flags.DEFINE_integer("embedding_dim", 32, "Quaternions per embedding.", 1)
_ROUNDS = flags.DEFINE_integer("rounds", 7, "Measurements; the median is reported.", 1)
_OUTPUT = flags.DEFINE_string("output", None, "JSON file to write, after every size.")
_REFERENCE_ENTITIES = 40_000
# Positives or queries, the same at every size.
_BATCH_SIZE = 1_000
# Steps in a measurement.
_STEPS = 10
# Test triples that are ranked.
_TILE = 256
_GIB = 2**30


def main() -> None:
    """Measures and prints."""
    settings = {"embedding_dim": _EMBEDDING_DIM.value, "batch_size": _BATCH_SIZE}
    command = measure.command(
        "scale",
        entities=",".join(_ENTITIES.value),
        recipe=_RECIPE.value,
        embedding_dim=_EMBEDDING_DIM.value,
    )
    sizes: list[dict[str, Any]] = []
    import_tensorflow()
    with tempfile.TemporaryDirectory() as name:
        reference = pathlib.Path(name)
        measure.in_process(write_zipf_graph, reference, _REFERENCE_ENTITIES)
        for num_entities in map(int, _ENTITIES.value):
            with tempfile.TemporaryDirectory() as size_name:
                folder = pathlib.Path(size_name)
                measure.in_process(write_zipf_graph, folder, num_entities)
                arguments = (folder, reference, _RECIPE.value, settings, _ROUNDS.value)
                sizes.append(measure.in_process(measure_size, *arguments))
            record = {"benchmark": "scale", "command": command, "settings": settings}
            measure.write_json(_OUTPUT.value, {**record, "sizes": sizes})
            print(f"{num_entities:,} entities: measured", flush=True)
    cells = [_cells(size) for size in sizes]
    print(table([list(cells[0]), *(list(row.values()) for row in cells)]))


def _cells(size: dict[str, Any]) -> dict[str, str]:
    seconds, times, ratios = size["seconds"], size["milliseconds"], size["ratios"]
    return {
        "entities": f"{size['entities']:,}",
        "read": f"{seconds['read text']:.1f} s",
        "load": f"{seconds['load graph']:.1f} s",
        "model": f"{seconds['build model']:.1f} s",
        "step": f"{times['step']:.1f} ms",
        "/ reference": f"{ratios['step / reference']:.2f}",
        "eval tile": f"{times['evaluation tile']:.0f} ms",
        "/ products": f"{ratios['evaluation / products']:.2f}",
        "peak": f"{size['peak_bytes']['evaluate'] / _GIB:.2f} GiB",
        "/ tables": f"{ratios['peak / tables']:.2f}",
    }


def measure_size(
    folder: pathlib.Path,
    reference: pathlib.Path,
    recipe: str,
    settings: dict[str, Any],
    rounds: int,
) -> dict[str, Any]:
    """Measures reading, saving, model, step and evaluation of a graph.

    Args:
        folder: The graph, as text.
        reference: A small graph, whose step takes turns with that of the large one.
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
    calls = {
        "step": lambda: trainer.train(_STEPS),
        "step, reference": lambda: small.train(_STEPS),
    }
    times = measure.interleaved(calls, rounds=rounds)
    times = {name: value / _STEPS for name, value in times.items()}
    times |= _evaluation(phases, graph, trainer.model, rounds)
    # With Adagrad's accumulators, which are as large.
    table_bytes = 2 * sum(4 * weight.shape.num_elements() for weight in trainer.model.weights)
    return {
        "entities": graph.num_entities,
        "train_triples": len(graph.train),
        "triples_per_step": [trainer.recipe.triples_per_step, small.recipe.triples_per_step],
        "seconds": phases.seconds,
        "peak_bytes": phases.peaks,
        "milliseconds": times,
        "ratios": {
            "step / reference": times["step"] / times["step, reference"],
            "evaluation / products": times["evaluation tile"] / times["products"],
            "peak / tables": (phases.peaks["evaluate"] - phases.peaks["import"]) / table_bytes,
        },
        "table_bytes": table_bytes,
    }


class Phases:
    """Times things that are done once, and notes the peak memory after each.

    Attributes:
        seconds: Duration by name of the phase.
        peaks: Peak resident memory of the process up to the end of the phase, in bytes.
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
    """Ranks one tile of queries per side, in turns with as many products with the table."""
    from quatre_tf.ranking.evaluator import Evaluator

    evaluator = phases.time("index known triples", lambda: Evaluator(graph))

    def evaluate() -> None:
        evaluator.evaluate(model, "test", max_triples=_TILE)

    phases.time("evaluate", evaluate)
    products = measure.ranking_products(model.entities.embeddings.value, 2 * _TILE, _TILE)
    calls = {"evaluation tile": evaluate, "products": products}
    return {name: t / 2 for name, t in measure.interleaved(calls, rounds=rounds).items()}


if __name__ == "__main__":
    run_program(main)
