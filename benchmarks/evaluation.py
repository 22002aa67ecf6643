"""Times the filtered evaluation, plain and whole, beside its matrix products alone.

Usage: python -m benchmarks.evaluation --dataset=wn18rr --embedding_dim=256

Both sides of the test split are ranked by a model that `sampled` trained for --epochs: where
scores are screened in bfloat16 (docs/design.md), the cost depends on how well answers rank.
`plain` has all entities as candidates and five figures a side, by an evaluator that has ranked
before, as after each epoch of a training; `float32` is the same without screening, whatever the
weights; `first` begins with a new one, which is compiled anew; `whole` does so too, and adds both
type constraints, intervals and every breakdown, as `trainers.evaluate` does. The matrix products
are those of a query for each test triple and side with the entity table, in tiles of 512, float32,
and nothing else; the ranking scores queries that are asked more than once only once.
"""

import resource
from collections.abc import Callable, Sequence
from typing import Any

from absl import flags

from benchmarks import measure
from datasets.program import import_tensorflow, run_program

_DATASET = flags.DEFINE_string("dataset", "wn18rr", "Name or folder, as for trainers.fit.")
_MANUAL_DIR = flags.DEFINE_string("manual_dir", None, "Folder with archives already at hand.")
_EMBEDDING_DIM = flags.DEFINE_integer("embedding_dim", 256, "Quaternions per embedding.")
_EPOCHS = flags.DEFINE_integer("epochs", 5, "Of training before; 0: the weights at its start.", 0)
_ROUNDS = flags.DEFINE_integer("rounds", 5, "Measurements; the median is reported.")
_OUTPUT = flags.DEFINE_string("output", None, "JSON file to write.")
_TILE = 512


def main(argv: Sequence[str]) -> None:
    """Measures and prints."""
    del argv
    import_tensorflow()
    import pathlib

    from benchmarks.trained_model import trained_model
    from datasets import catalog
    from quatre_tf.ranking.evaluation import evaluate_run
    from quatre_tf.ranking.evaluator import Evaluator
    from quatre_tf.run import Trained

    graph = catalog.load(_DATASET.value, manual_dir=_MANUAL_DIR.value)
    model = trained_model(graph, _EMBEDDING_DIM.value, _EPOCHS.value)
    trained = Trained(model, graph, pathlib.Path())
    num_queries = 2 * len(graph.test)
    evaluator, unscreened = Evaluator(graph), Evaluator(graph, screened=False)
    calls = {
        "plain": lambda: evaluator.evaluate(model, "test"),
        "float32": lambda: unscreened.evaluate(model, "test"),
        "first": lambda: Evaluator(graph).evaluate(model, "test"),
        "whole": lambda: evaluate_run(trained),
        "matrix products": _products(model.entities.embeddings.value, num_queries),
    }
    peak_before = _peak_memory()
    calls["whole"]()
    peak_bytes = _peak_memory() - peak_before
    times = measure.interleaved(calls, rounds=_ROUNDS.value)
    ratios = {
        f"{name} / products": times[name] / times["matrix products"]
        for name in ("plain", "float32", "first", "whole")
    }
    ratios["whole / first"] = times["whole"] / times["first"]
    mrr = calls["plain"]()["candidates"]["all"]["both"]["mrr"]
    print(
        f"{graph.name}, n = {_EMBEDDING_DIM.value}, {_EPOCHS.value} epochs (MRR {mrr:.3f}): "
        f"{num_queries:,} queries, both sides"
    )
    for name, value in times.items():
        print(f"{name:18s} {value / 1e3:8.2f} s")
    for name, value in ratios.items():
        print(f"{name:18s} {value:8.2f}")
    print(f"{'peak memory above':18s} {peak_bytes / 2**20:8.0f} MiB (what was held before it)")
    record = {
        "benchmark": "evaluation",
        "command": measure.command(
            "evaluation",
            dataset=_DATASET.value,
            embedding_dim=_EMBEDDING_DIM.value,
            epochs=_EPOCHS.value,
            rounds=_ROUNDS.value,
        ),
        "queries": num_queries,
        "mrr": mrr,
        "milliseconds": times,
        "ratios": ratios,
        "peak_bytes_above": peak_bytes,
    }
    measure.write_json(_OUTPUT.value, record)


def _products(table: Any, num_queries: int) -> Callable[[], Any]:
    """Returns a call of the matrix products alone, in the quickest form found."""
    import tensorflow as tf

    queries = tf.random.normal([_TILE, table.shape[1]])
    # Transposed beforehand: a product with `transpose_b` would do it again for every tile.
    columns = tf.transpose(table)

    @tf.function
    def products() -> tf.Tensor:
        total = tf.constant(0.0)
        for _ in tf.range(num_queries // _TILE):
            tf.autograph.experimental.set_loop_options(parallel_iterations=1)
            total += tf.linalg.matmul(queries, columns)[0, 0]
        rest = tf.linalg.matmul(queries[: num_queries % _TILE], columns)
        return total + tf.reduce_sum(rest[:1])

    return lambda: products().numpy()


def _peak_memory() -> int:
    """Returns the peak resident memory of this process so far, in bytes."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    run_program(main)
