"""Takes a graph of Wikidata5M's size from text to answers, and measures each leg of the way.

Usage: python -m benchmarks.rehearsal --folder=DIR [--entities=4600000] [--output=FILE.json]

Each leg has its own process, and all but the answers are commands that a user would type. The graph
is planted (`benchmarks.planted_graph`), so the best MRR is known; the goal of the training is 90 %
of it on validation. The first training is killed after its first step, and the second resumes it.
Legs that were measured before this program was killed are not measured again.
"""

import functools
import json
import pathlib
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from absl import flags

from benchmarks import measure
from benchmarks.planted_graph import TEST, PlantedGraph
from datasets.program import import_tensorflow, run_program
from datasets.text_table import table as text_table
from quatre_tf.atomic_files import write_text
from quatre_tf.ranking.results import Results
from trainers.reporting.training_log import read_records

_FOLDER = flags.DEFINE_string("folder", None, "Where to work: a new folder.", required=True)
_ENTITIES = flags.DEFINE_integer("entities", 4_600_000, "Number of entities.", 460_000)
_EPOCHS = flags.DEFINE_integer("epochs", 1, "Length of the training.", 1)
_STEPS = flags.DEFINE_integer("steps_per_epoch", 0, "Steps of an epoch; 0: all queries.", 0)
# As Wikidata5M has them.
_RELATIONS = 822
_TRIPLES_PER_ENTITY = 4.48
_DIM = 32
_WIDTH = 4 * _DIM
_TRAINING = ("--recipe=sampled", f"--embedding_dim={_DIM}", "--num_candidates=24576", "--n3=0.02")
_SHARE_OF_BEST = 0.9
_TOP_K = 10
_BATCHES = (1, 32, 256)
_GIB = 2**30
# Seconds; other legs have none.
_GOALS = {
    "text to prepared": 120,
    "first training step": 60,
    "training, resumed": 5400,
    "evaluation": 180,
    "first answer": 0.3,
    "hundredth answer": 0.3,
}


def main() -> None:
    """Measures and prints."""
    folder = pathlib.Path(_FOLDER.value)
    run, prepared, served = folder / "run", folder / "prepared", folder / "served"
    (graph,) = _once(folder, "graph", lambda: [measure.in_process(_plant, folder, _ENTITIES.value)])
    training = [f"--dataset={prepared}", f"--run_dir={run}", *_TRAINING]
    length = {"epochs": _EPOCHS.value, "steps_per_epoch": _STEPS.value}
    training += [*(f"--{name}={value}" for name, value in length.items()), "--validate_every=1"]
    first_step = run / "metrics.jsonl"
    table = folder / "embeddings.parquet"
    new = [f"--triples={folder / 'new.tsv'}", f"--output={served}"]
    commands: dict[str, tuple[str, ...]] = {
        "text to prepared": (
            "datasets.prepare",
            f"--input={folder / 'text'}",
            f"--output={prepared}",
        ),
        "first training step": ("trainers.fit", *training),
        "training, resumed": ("trainers.fit", *training, "--resume"),
        "evaluation": ("trainers.evaluate", f"--run_dir={run}", "--candidates=all"),
        "export": ("saved_models.export", f"--run_dir={run}", f"--output={served}"),
        "adding an entity": ("saved_models.add_entities", f"--run_dir={run}", *new),
        "embeddings to Parquet": ("trainers.embeddings", f"--run_dir={run}", f"--output={table}"),
    }
    legs = []
    for name, command in commands.items():
        until = first_step if name == "first training step" else None
        legs += _once(folder, name, functools.partial(_leg, name, command, until))
        if name == "export":
            asked = folder / "text" / "test.tsv"
            answers = functools.partial(measure.in_process, _answers, served, asked)
            legs += _once(folder, "answers", answers)
            products = functools.partial(measure.in_process, _products, graph["entities"])
            legs += _once(folder, "products", products)
    curve = measure.curve_of(read_records(run / "metrics.jsonl"))
    reached = [p["seconds"] for p in curve if p["mrr"] >= _SHARE_OF_BEST * graph["best_mrr"]]
    record = {
        "graph": graph,
        "legs": legs,
        "validation": curve,
        "minutes_to_goal": reached[0] / 60 if reached else None,
        "test_mrr": Results.load(run / "test_metrics.json").metrics()["mrr"],
    }
    import_tensorflow()
    measure.write_result(record)
    _print(record)


def _once(
    folder: pathlib.Path, name: str, measured: Callable[[], list[dict[str, Any]]]
) -> list[dict[str, Any]]:
    """Returns what was measured, now or before this program was killed."""
    path = folder / "legs.json"
    done = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if name not in done:
        done[name] = measured()
        write_text(path, json.dumps(done))
    return done[name]


def _plant(folder: pathlib.Path, num_entities: int) -> dict[str, Any]:
    """Writes the text of the graph and a new entity with three triples; returns facts."""
    graph = PlantedGraph(num_entities, _RELATIONS, round(_TRIPLES_PER_ENTITY * num_entities))
    graph.write(folder / "text")
    lines = (folder / "text" / "valid.tsv").read_text(encoding="utf-8").splitlines()[:3]
    rows = ["\t".join(["new", *line.split("\t")[1:]]) for line in lines]
    (folder / "new.tsv").write_text("\n".join(rows), encoding="utf-8")
    return {
        "entities": graph.num_entities,
        "relations": _RELATIONS,
        "training_triples": len(graph.train),
        "test_triples": TEST,
        "best_mrr": graph.best_mrr(),
    }


def _leg(name: str, command: Sequence[str], until: pathlib.Path | None) -> list[dict[str, Any]]:
    """Runs a command to its end, or until it writes to a file."""
    print(f"{name}: {' '.join(command)}", flush=True)
    return [_row(name, *measure.run([sys.executable, "-m", *command], until))]


def _row(name: str, taken: float, peak: int | None = None) -> dict[str, Any]:
    return {"leg": name, "seconds": taken, "goal_seconds": _GOALS.get(name), "peak_bytes": peak}


def _answers(served: pathlib.Path, triples: pathlib.Path) -> list[dict[str, Any]]:
    """Loads the export as TensorFlow Serving does, in a session, and asks for the top 10."""
    import_tensorflow()
    import tensorflow as tf

    lines = triples.read_text(encoding="utf-8").splitlines()[: max(_BATCHES)]
    heads, relations, _ = zip(*(line.split("\t") for line in lines), strict=True)
    (version,) = served.iterdir()
    session = tf.compat.v1.Session(graph=tf.Graph())
    with session.graph.as_default():
        start = time.perf_counter()
        loaded = tf.compat.v1.saved_model.load(session, ["serve"], str(version))
        signature = loaded.signature_def["predict_tails"]

        def ask(rows: slice) -> None:
            given = {"head": heads[rows], "relation": relations[rows], "top_k": _TOP_K}
            given |= {"filtered": True, "type_constrained": False}
            feed = {signature.inputs[name].name: np.array(value) for name, value in given.items()}
            session.run(signature.outputs["entities"].name, feed)

        # The server makes the warm-up requests of the export before it answers.
        ask(slice(100, 101))
        loading = time.perf_counter() - start
        times = [_seconds(ask, slice(place, place + 1)) for place in range(100)]
        taken = {"loading": loading, "first answer": times[0], "hundredth answer": times[-1]}
        taken |= {f"request of {size}": _seconds(ask, slice(size)) for size in _BATCHES}
        return [_row(name, value, measure.peak_memory()) for name, value in taken.items()]


def _products(num_entities: int) -> list[dict[str, Any]]:
    """What answers cannot avoid: the scores of all entities, and the best of them."""
    import_tensorflow()
    import tensorflow as tf

    rows = tf.random.normal([num_entities, _WIDTH])

    @tf.function
    def best(queries: tf.Tensor) -> tf.Tensor:
        return tf.math.top_k(tf.linalg.matmul(queries, rows, transpose_b=True), _TOP_K)[1]

    legs = []
    for size in _BATCHES:
        queries = tf.random.normal([size, _WIDTH])
        best(queries)
        seconds = _seconds(lambda given: best(given).numpy(), queries)
        legs.append(_row(f"product and top_k of {size}", seconds, measure.peak_memory()))
    return legs


def _seconds(call: Callable[[Any], None], argument: Any) -> float:
    return measure.milliseconds(functools.partial(call, argument)) / 1e3


def _print(record: dict[str, Any]) -> None:
    graph, minutes = record["graph"], record["minutes_to_goal"]
    rows = [["leg", "seconds", "goal", "peak GiB"]]
    for leg in record["legs"]:
        seconds, goal, peak = leg["seconds"], leg["goal_seconds"], leg["peak_bytes"]
        cells = [
            f"{seconds:,.2f}" if seconds < 10 else f"{seconds:,.0f}",
            f"{goal:,g}" if goal else "",
            f"{peak / _GIB:.1f}" if peak else "",
        ]
        rows.append([leg["leg"], *cells])
    print(text_table(rows))
    print(
        f"Test MRR: planted rule {graph['best_mrr']:.4f}, model {record['test_mrr']:.4f}. "
        f"{_SHARE_OF_BEST:.0%} of the rule's on validation: "
        + (f"after {minutes:.0f} minutes." if minutes else "not reached.")
    )


if __name__ == "__main__":
    run_program(main)
