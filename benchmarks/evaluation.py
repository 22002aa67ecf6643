"""Times the filtered evaluation of a test split, and its unavoidable work alone.

Usage: python -m benchmarks.evaluation --dataset=wn18rr --embedding_dim=256

Both sides of the test split are ranked by a model that `sampled` trained for --epochs (by default
5; 0: its initial values). The flags are those of `quatre fit`. `plain` has all entities as
candidates and an evaluator that has ranked before, as after each epoch of a training. `first`
creates a new evaluator, so everything is compiled again. `whole` does too, and adds both type
constraints, confidence intervals and every breakdown, as `quatre evaluate` does. The unavoidable
work (`measure.ranking_baseline`) scores one query per test triple and side with the entity table,
by a float32 product or what the model needs instead; the ranking scores queries that occur more
than once only once.
"""

import pathlib

from absl import flags

from benchmarks import measure
from datasets.program import import_tensorflow, run_program
from trainers.setting_flags import SettingFlags

_DATASET = flags.DEFINE_string("dataset", "wn18rr", "Name or folder, as for `quatre fit`.")
_MANUAL_DIR = flags.DEFINE_string("manual_dir", None, "Folder with downloaded archives.")
_SETTINGS = SettingFlags(without=("recipe", "strategy", "num_replicas"))
_ROUNDS = flags.DEFINE_integer("rounds", 5, "Measurements; the median is reported.", 1)


def main() -> None:
    """Measures and prints."""
    import_tensorflow()
    from datasets import catalog
    from quatre_tf.ranking.evaluation import evaluate_runs
    from quatre_tf.ranking.evaluator import Evaluator
    from quatre_tf.runs.run import Run

    graph = catalog.load(_DATASET.value, manual_dir=_MANUAL_DIR.value)
    given = {"embedding_dim": 256, "epochs": 5, **_SETTINGS.given()}
    model = measure.trained_model(graph, **given)
    trained = Run(model, graph, pathlib.Path())
    num_queries = 2 * len(graph.test)
    evaluator = Evaluator(graph)
    calls = {
        "plain": lambda: evaluator.evaluate(model, "test"),
        "first": lambda: Evaluator(graph).evaluate(model, "test"),
        "whole": lambda: evaluate_runs({"": trained}),
        "unavoidable": measure.ranking_baseline(model, num_queries),
    }
    peak_before = measure.peak_memory()
    calls["whole"]()
    peak_bytes = measure.peak_memory() - peak_before
    times = measure.interleaved(calls, rounds=_ROUNDS.value)
    ratios = {
        f"{name} / unavoidable": times[name] / times["unavoidable"]
        for name in ("plain", "first", "whole")
    }
    mrr = calls["plain"]().metrics()["mrr"]
    print(
        f"{graph.name}, {given.get('model', 'quatre')}, n = {given['embedding_dim']}, "
        f"{given['epochs']} epochs (MRR {mrr:.3f}): {num_queries:,} queries, both sides"
    )
    for name, value in times.items():
        print(f"{name:18s} {value / 1e3:8.2f} s")
    for name, value in ratios.items():
        print(f"{name:18s} {value:8.2f}")
    print(f"{'peak memory added':18s} {peak_bytes / 2**20:8.0f} MiB")
    record = {
        "queries": num_queries,
        "mrr": mrr,
        "milliseconds": times,
        "ratios": ratios,
        "peak_bytes_above": peak_bytes,
    }
    measure.write_result(record)


if __name__ == "__main__":
    run_program(main)
