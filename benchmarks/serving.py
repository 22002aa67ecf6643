"""Times predictions of an exported model beside what they cannot do without.

Usage: python -m benchmarks.serving --run_dir=DIR [--output=FILE.json]
       python -m benchmarks.serving --scale [--output=FILE.json]

The first form exports a run and asks its `predict_tails`, top-10 filtered, by names. Beside it are
the product of as many queries with the entity table, which reads the table once, in the quickest
single operation found, and `tf.math.top_k` of ready scores; names, filter and queries are neither.
The second form times the exact top-10 among up to 5 million random entities, without names.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from absl import flags

from benchmarks import measure
from datasets.program import import_tensorflow, run_program

_RUN_DIR = flags.DEFINE_string("run_dir", None, "A run of trainers.fit.")
_SCALE = flags.DEFINE_bool("scale", False, "Random entities in growing numbers instead.")
_ROUNDS = flags.DEFINE_integer("rounds", 15, "Measurements; the median is reported.")
_OUTPUT = flags.DEFINE_string("output", None, "JSON file to write.")
_TOP_K = 10
_BATCHES = (1, 32, 256)
_SCALE_ENTITIES = (10_000, 40_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000, 5_000_000)
_SCALE_BATCHES = (1, 32)
_SCALE_DIM = 32


@flags.multi_flags_validator(["run_dir", "scale"], "Give either --run_dir or --scale.")
def _one_form(values: dict[str, Any]) -> bool:
    return (values["run_dir"] is None) == values["scale"]


def main(argv: Sequence[str]) -> None:
    """Measures and prints."""
    del argv
    import_tensorflow()
    run_dir = _RUN_DIR.value
    measure.write_json(_OUTPUT.value, _scale() if run_dir is None else _run(run_dir))


def _run(run_dir: str) -> dict[str, Any]:
    from quatre_tf.run import load_trained

    trained = load_trained(run_dir)
    record: dict[str, Any] = {
        "benchmark": "serving",
        "command": "python -m benchmarks.serving --run_dir=DIR",
        "dataset": trained.graph.name,
        "shape": list(trained.model.entities.embeddings.shape),
        "batches": {},
    }
    num_entities, width = record["shape"]
    print(f"{trained.graph.name}: {num_entities:,} entities, width {width}")
    print(f"{'batch':>6s}{'predict_tails':>16s}{'product':>12s}{'top_k':>12s}{'ratio':>8s}")
    with tempfile.TemporaryDirectory() as folder:
        for batch, calls in _run_calls(trained, folder):
            times = measure.interleaved(calls, rounds=_ROUNDS.value)
            total, product, top_k = times.values()
            ratio = total / (product + top_k)
            print(f"{batch:6d}{total:13.2f} ms{product:9.2f} ms{top_k:9.2f} ms{ratio:8.2f}")
            record["batches"][batch] = {"milliseconds": times, "ratio": ratio}
    return record


def _run_calls(trained: Any, folder: str) -> Iterator[tuple[int, dict[str, Callable]]]:
    """Yields for each size of a batch its calls by name."""
    import tensorflow as tf

    from saved_models.exporting import export_scorer
    from saved_models.scorer import build_scorer

    graph = trained.graph
    path = export_scorer(build_scorer(trained.model, graph), folder)
    predict = tf.saved_model.load(str(path)).signatures["predict_tails"]
    table = tf.Variable(trained.model.entities.embeddings.value)
    for batch in _BATCHES:
        triples = graph.test[:batch]
        question = {
            "head": tf.constant(graph.entities.names[triples[:, 0]]),
            "relation": tf.constant(graph.relations.names[triples[:, 1]]),
            "top_k": tf.constant(_TOP_K),
            "filtered": tf.constant(True),
            "type_constrained": tf.constant(False),
        }
        queries = trained.model.tail_queries(triples[:, 0], triples[:, 1])
        yield (
            batch,
            {
                "predict_tails": _prediction(predict, question),
                "product": _product(table, queries),
                "top_k": _top_k(trained.model.score_candidates(queries)),
            },
        )


def _prediction(predict: Any, question: dict[str, Any]) -> Callable[[], Any]:
    return lambda: predict(**question)["entities"].numpy()


def _product(table: Any, queries: Any) -> Callable[[], Any]:
    """Returns a call of the product alone."""
    import tensorflow as tf

    columns = tf.transpose(queries)

    @tf.function
    def product() -> tf.Tensor:
        if queries.shape[0] == 1:
            return tf.linalg.matmul(queries, table, transpose_b=True)[0, 0]
        return tf.linalg.matmul(table, columns)[0, 0]

    return lambda: product().numpy()


def _top_k(scores: Any) -> Callable[[], Any]:
    import tensorflow as tf

    # An argument, because TensorFlow would compute it once if it were a constant.
    top_k = tf.function(lambda scores: tf.math.top_k(scores, _TOP_K)[1])
    return lambda: top_k(scores).numpy()


def _scale() -> dict[str, Any]:
    record: dict[str, Any] = {
        "benchmark": "serving, scale",
        "command": "python -m benchmarks.serving --scale",
        "embedding_dim": _SCALE_DIM,
        "milliseconds": {},
    }
    print(f"Exact top-{_TOP_K}, n = {_SCALE_DIM}, float32")
    print(f"{'entities':>10s}" + "".join(f"{f'batch {b}':>15s}" for b in _SCALE_BATCHES))
    rng = np.random.default_rng(0)
    width = 4 * _SCALE_DIM
    table = rng.standard_normal((_SCALE_ENTITIES[-1], width), dtype=np.float32)
    for num_entities in _SCALE_ENTITIES:
        times = measure.interleaved(_scale_calls(table[:num_entities]), rounds=_ROUNDS.value)
        print(f"{num_entities:10,d}" + "".join(f"{value:12.2f} ms" for value in times.values()))
        record["milliseconds"][num_entities] = times
    return record


def _scale_calls(table: np.ndarray) -> dict[str, Callable[[], Any]]:
    import tensorflow as tf

    from saved_models.entity_table import EntityTable

    entities = EntityTable(table)

    @tf.function(reduce_retracing=True)
    def best(queries: tf.Tensor) -> tf.Tensor:
        return entities.top_k(queries, tf.constant(_TOP_K), lambda scores, start: scores)[1]

    def call(batch: int) -> Callable[[], Any]:
        queries = tf.constant(table[:batch])
        return lambda: best(queries).numpy()

    return {f"batch {batch}": call(batch) for batch in _SCALE_BATCHES}


if __name__ == "__main__":
    run_program(main)
