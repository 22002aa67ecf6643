"""Times predictions of an exported model and the operations they cannot avoid.

Usage: python -m benchmarks.serving --run_dir=DIR [--output=FILE.json]
       python -m benchmarks.serving --run_dir=DIR --index=64,256 [--output=FILE.json]
       python -m benchmarks.serving --scale [--output=FILE.json]

The first form exports a run and calls its `predict_tails`: top-10, filtered, by names. In turns
with it run the product of as many queries with the entity table, in the fastest single operation
found, and `tf.math.top_k` of given scores; neither handles names, filters or queries. The second
form compares `Run.predict` with and without an index of so many probes. The third times the exact
top-10 among up to 5 million random entities, without names.
"""

import functools
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from absl import flags

from benchmarks import measure
from datasets.program import import_tensorflow, run_program
from datasets.text_table import table

_RUN_DIR = flags.DEFINE_string("run_dir", None, "A run of `quatre fit`.")
_SCALE = flags.DEFINE_bool(
    "scale", False, "Measure random tables of growing size instead of a run."
)
_ROUNDS = flags.DEFINE_integer("rounds", 15, "Measurements; the median is reported.", 1)
_INDEX = flags.DEFINE_list("index", [], "Numbers of probes of an index, instead of an export.")
_TOP_K = 10
_BATCHES = (1, 32, 256)
_SCALE_ENTITIES = (10_000, 40_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000, 5_000_000)
_SCALE_BATCHES = (1, 32)
_SCALE_DIM = 32


@flags.multi_flags_validator(["run_dir", "scale"], "Give either --run_dir or --scale.")
def _one_form(values: dict[str, Any]) -> bool:
    return (values["run_dir"] is None) == values["scale"]


def main() -> None:
    """Measures and prints."""
    import_tensorflow()
    run_dir = _RUN_DIR.value
    measure.write_result(_run(run_dir) if run_dir else _scale())


def _run(run_dir: str) -> dict[str, Any]:
    from quatre_tf.runs.run import load_run

    trained = load_run(run_dir)
    name, shape = trained.graph.name, list(trained.model.entities.embeddings.shape)
    print(f"{name}: {shape[0]:,} entities, width {shape[1]}")
    record: dict[str, Any] = {"dataset": name, "shape": shape}
    if _INDEX.value:
        return {**record, "index": _index(trained), "peak_bytes": measure.peak_memory()}
    rows, batches = [["batch", "predict_tails", "product", "top_k", "ratio"]], {}
    with tempfile.TemporaryDirectory() as folder:
        for batch, calls in _run_calls(trained, folder):
            times = measure.interleaved(calls, rounds=_ROUNDS.value)
            ratio = times["predict_tails"] / (times["product"] + times["top_k"])
            batches[batch] = {"milliseconds": times, "ratio": ratio}
            rows.append([str(batch), *(f"{t:.2f} ms" for t in times.values()), f"{ratio:.2f}"])
    print(table(rows))
    return {**record, "batches": batches, "peak_bytes": measure.peak_memory()}


def _index(trained: Any) -> list[dict[str, Any]]:
    """Compares `Run.predict` with and without an index, question by question."""
    heads, relations, _ = trained.graph.test[: _BATCHES[-1]].T
    names, relation_names = trained.graph.entities.names, trained.graph.relations.names
    asked = {"head": names[heads].tolist(), "relation": relation_names[relations].tolist()}
    single = {column: values[0] for column, values in asked.items()}
    exact = trained.predict(**asked)
    found = []
    for num_probes in map(int, _INDEX.value):
        start = time.perf_counter()
        index = trained.build_index(num_probes)
        building = time.perf_counter() - start
        recalls = [
            len({answer.entity for answer in answers} & {answer.entity for answer in best})
            / len(best)
            for answers, best in zip(trained.predict(**asked, index=index), exact, strict=True)
        ]
        calls = {
            "exact": functools.partial(trained.predict, **single),
            "index": functools.partial(trained.predict, **single, index=index),
        }
        times = measure.interleaved(calls, rounds=_ROUNDS.value)
        recall = float(np.mean(recalls))
        print(f"{num_probes} probes: built in {building:.0f} s, recall@{_TOP_K} {recall:.3f}")
        print("one question: " + ", ".join(f"{name} {t:.2f} ms" for name, t in times.items()))
        found.append(
            {
                "num_probes": num_probes,
                "build_seconds": building,
                "recall": recall,
                "milliseconds": times,
            }
        )
    return found


def _run_calls(trained: Any, folder: str) -> Iterator[tuple[int, dict[str, Callable[[], Any]]]]:
    """Yields the calls by name for each batch size."""
    import tensorflow as tf

    from saved_models.scorer import Scorer
    from saved_models.versions import export_scorer

    graph, model = trained.graph, trained.model
    path = export_scorer(Scorer(model, graph), folder)
    predict = tf.saved_model.load(str(path)).signatures["predict_tails"]
    entities = tf.Variable(model.entities.embeddings.value)
    for batch in _BATCHES:
        triples = graph.test[:batch]
        request = {
            "head": tf.constant(graph.entities.names[triples[:, 0]]),
            "relation": tf.constant(graph.relations.names[triples[:, 1]]),
            "top_k": tf.constant(_TOP_K),
            "filtered": tf.constant(True),
            "type_constrained": tf.constant(False),
        }
        queries = model.tail_queries(triples[:, 0], triples[:, 1])
        calls: dict[str, Callable[[], Any]] = {
            "predict_tails": functools.partial(_predict, predict, request),
            "product": _product(entities, queries),
            "top_k": _top_k(model.score_candidates(queries)),
        }
        yield batch, calls


def _predict(predict: Any, request: dict[str, Any]) -> Any:
    return predict(**request)["entities"].numpy()


def _product(entities: Any, queries: Any) -> Callable[[], Any]:
    import tensorflow as tf

    columns = tf.transpose(queries)

    @tf.function
    def product() -> tf.Tensor:
        if queries.shape[0] == 1:
            return tf.linalg.matmul(queries, entities, transpose_b=True)[0, 0]
        return tf.linalg.matmul(entities, columns)[0, 0]

    return lambda: product().numpy()


def _top_k(scores: Any) -> Callable[[], Any]:
    import tensorflow as tf

    # An argument, because TensorFlow would compute it once if it were a constant.
    top_k = tf.function(lambda scores: tf.math.top_k(scores, _TOP_K)[1])
    return lambda: top_k(scores).numpy()


def _scale() -> dict[str, Any]:
    import tensorflow as tf

    rng = np.random.default_rng(0)
    rows = rng.standard_normal((_SCALE_ENTITIES[-1], 4 * _SCALE_DIM), dtype=np.float32)
    times = {}
    for num_entities in _SCALE_ENTITIES:
        entities = tf.Variable(rows[:num_entities], trainable=False)
        calls = {f"batch {b}": _search(entities, tf.constant(rows[:b])) for b in _SCALE_BATCHES}
        times[num_entities] = measure.interleaved(calls, rounds=_ROUNDS.value)
    print(f"Exact top-{_TOP_K}, n = {_SCALE_DIM}, float32")
    cells = [[f"{n:,}", *(f"{t:.2f} ms" for t in found.values())] for n, found in times.items()]
    print(table([["entities", *(f"batch {batch}" for batch in _SCALE_BATCHES)], *cells]))
    return {"embedding_dim": _SCALE_DIM, "milliseconds": times}


def _search(entities: Any, queries: Any) -> Callable[[], Any]:
    import tensorflow as tf

    from quatre_tf.ranking.tiles import top_k
    from quatre_tf.similarities import DOT

    @tf.function
    def search(queries: tf.Tensor) -> tf.Tensor:
        return top_k(DOT, entities.read_value(), queries, _TOP_K)[1]

    return lambda: search(queries).numpy()


if __name__ == "__main__":
    run_program(main)
