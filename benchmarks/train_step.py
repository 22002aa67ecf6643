"""Times a training step and the operations that no implementation of it can avoid.

Usage: python -m benchmarks.train_step --recipe=strong --shape=fb15k237 [--output=FILE.json]

The batch is drawn from a random graph of the benchmark's size, so no data set is needed and the
input pipeline is not timed (`benchmarks.pipeline` times it). The unavoidable operations take turns
with the step, on operands of the same sizes:

- paper: gather the entity rows of the batch, sum as many gradient rows by entity, and apply
  TensorFlow's sparse Adagrad kernel to the distinct rows.
- strong: three bfloat16 products (scores, gradient of the queries, gradient of the candidates) and
  one dense Adagrad pass over the table.
- sampled: the same products with the sampled candidates, a gather of the batch's rows, and sparse
  Adagrad on the distinct ones.

The rate of each operation shows what the machine achieves at these sizes. The flags are those of
`quatre fit`, and its `paper` is the default. The steps of --others, with as many floats per entity,
take turns with all of these.
"""

import os
import unittest.mock
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from absl import flags

from benchmarks import measure
from benchmarks.random_graphs import SIZES, random_graph
from datasets.program import import_tensorflow, run_program
from datasets.text_table import table as text_table
from trainers.setting_flags import SettingFlags
from trainers.training import presets
from trainers.training.config import SETTINGS, TrainConfig

if TYPE_CHECKING:
    import tensorflow as tf

    from quatre_tf.data.graph import Graph
    from trainers.training.trainer import Trainer

# Steps in a call.
_STEPS = 10

_SHAPE = flags.DEFINE_enum("shape", "wn18rr", list(SIZES), "Benchmark whose sizes to use.")
_OTHERS = flags.DEFINE_list("others", [], "Models to compare, with as many floats.")
_SETTINGS = SettingFlags(without=("strategy", "num_replicas"))
_ROUNDS = flags.DEFINE_integer("rounds", 15, "Measurements; the median is reported.", 1)
_PROFILE = flags.DEFINE_string("profile", None, "Folder for a profile of the step (TensorBoard).")


class Part(NamedTuple):
    """An unavoidable operation.

    Attributes:
        run: Does the work and returns a scalar.
        work: The amount of work, so that `work / seconds` is a rate in `unit`.
        unit: `"GFLOP/s"`, `"GB/s"` or `"Mrows/s"`.
    """

    run: Callable[[], "tf.Tensor"]
    work: float
    unit: str


def main() -> None:
    """Measures and prints."""
    shape, given = _SHAPE.value, _SETTINGS.given()
    recipe = given.pop("recipe", "paper")
    # The paper's sizes per benchmark; one size for all in the softmax recipes.
    dataset = shape if recipe == "paper" else "random"
    config = presets.resolve(dataset, recipe, given)
    import_tensorflow()
    import tensorflow as tf

    graph = random_graph(shape)
    trainer, batch = _trainer_and_batch(config, graph)
    parts = _parts(batch, *trainer.model.entities.embeddings.shape)
    steps = _steps(measure.training_step(trainer, batch))
    width = trainer.model.score_function.entity_width
    steps |= {name: _other_step(name, config, graph, width) for name in _OTHERS.value}
    runs = steps | {name: part.run for name, part in parts.items()}
    calls = {name: measure.repeated(run, _STEPS) for name, run in runs.items()}
    times = {
        name: value / _STEPS
        for name, value in measure.interleaved(calls, rounds=_ROUNDS.value).items()
    }
    if _PROFILE.value:
        with tf.profiler.experimental.Profile(_PROFILE.value):
            calls["step"]()
    unavoidable = sum(times[name] for name in parts)
    print(f"{shape}, {config.model}, recipe {recipe}: {trainer.recipe.description}")
    rates = {name: 1e3 * part.work / times[name] for name, part in parts.items()}
    rows = [["", "ms", "", ""]]
    for name, value in times.items():
        rate = [f"{rates[name]:,.1f}", parts[name].unit] if name in parts else ["", ""]
        rows.append([name, f"{value:.2f}", *rate])
    rows.append(["unavoidable", f"{unavoidable:.2f}", "", ""])
    print(text_table(rows))
    print(f"step / unavoidable: {times['step'] / unavoidable:.2f}")
    others = {name: times[name] / times["step"] for name in _OTHERS.value}
    for name, ratio in others.items():
        print(f"{name} / step: {ratio:.2f}")
    record = {
        "entities": graph.num_entities,
        "embedding_dim": config.embedding_dim,
        "batch": {name: list(tensor.shape) for name, tensor in batch.items()},
        "milliseconds": times,
        "rates": {name: [rate, parts[name].unit] for name, rate in rates.items()},
        "floor_milliseconds": unavoidable,
        "ratio": times["step"] / unavoidable,
        "others_to_step": others,
    }
    measure.write_result(record)


def _trainer_and_batch(config: TrainConfig, graph: "Graph") -> tuple["Trainer", dict[str, Any]]:
    import tensorflow as tf

    from trainers.training.trainer import Trainer

    trainer = Trainer(config, graph, tf.distribute.get_strategy())
    return trainer, next(iter(trainer.recipe.batches().dataset()))


def _other_step(
    name: str, config: TrainConfig, graph: "Graph", width: int
) -> Callable[[], "tf.Tensor"]:
    """Returns a step of another model with entities of `width` floats.

    Args:
        name: "transe", or with a norm "transe:1".
        config: The recipe and its sizes.
        graph: What it learns.
        width: Floats per entity.
    """
    from quatre_tf.layers.registry import score_function_class

    model, _, norm = name.partition(":")
    kept = ("batch_size", "num_negatives", "max_answers", "num_candidates", "compute_dtype")
    given = {
        key: getattr(config, key) for key in kept if SETTINGS[key].is_read_by(config.recipe, model)
    }
    given |= {
        "model": model,
        "embedding_dim": width // score_function_class(model).entity_components,
    }
    if norm:
        given["norm"] = norm
    other = presets.resolve("random", config.recipe, given)
    return measure.training_step(*_trainer_and_batch(other, graph))


def _steps(step: Callable[[], "tf.Tensor"]) -> dict[str, Callable[[], "tf.Tensor"]]:
    """Returns the step, and if it has compiled operations, the one made of TensorFlow's."""

    def not_compiled() -> "tf.Tensor":
        # Read while the step is traced.
        with unittest.mock.patch.dict(os.environ, QUATRE_ENABLE_KERNEL="0"):
            return step()

    steps = {"step": step}
    if measure.machine()["compiled_operations"]:
        steps["step, not compiled"] = not_compiled
    return steps


def _parts(batch: dict[str, "tf.Tensor"], num_entities: int, width: int) -> dict[str, Part]:
    """Returns the unavoidable operations of a step.

    Args:
        batch: As the recipe makes it.
        num_entities: Rows of the entity table.
        width: Floats of a row.
    """
    import tensorflow as tf

    table, accumulator = (tf.Variable(tf.ones([num_entities, width])) for _ in range(2))

    def rows_of(*names: str) -> dict[str, Part]:
        ids = tf.concat([tf.reshape(batch[name], [-1]) for name in names], axis=0)
        parts = {"gather": _gather(table, ids)}
        if "corrupted" in names:
            parts["segment sum"] = _segment_sum(ids, width)
        return {**parts, "sparse Adagrad": _adagrad(table, accumulator, ids)}

    if "corrupted" in batch:
        return rows_of("heads", "tails", "corrupted")
    num_queries = len(batch["entities"])
    if "candidates" in batch:
        products = _products(num_queries, len(batch["candidates"]), width)
        return products | rows_of("candidates", "entities", "targets")
    products = _products(num_queries, num_entities, width)
    return {**products, "dense Adagrad": _adagrad(table, accumulator)}


def _gather(table: Any, ids: Any) -> Part:
    import tensorflow as tf

    gigabytes = 4e-9 * len(ids) * table.shape[1]
    return Part(lambda: tf.nn.embedding_lookup(table, ids)[0, 0], gigabytes, "GB/s")


def _segment_sum(ids: Any, width: int) -> Part:
    """Sums a gradient row per id; sorts first, because unsorted sums use one thread only."""
    import tensorflow as tf

    index = tf.unique(ids)[1]
    order = tf.argsort(index)
    segments, rows = tf.gather(index, order), tf.random.normal([len(ids), width], stddev=1e-6)
    return Part(
        lambda: tf.math.segment_sum(tf.gather(rows, order), segments)[0, 0],
        4e-9 * len(ids) * width,
        "GB/s",
    )


def _adagrad(table: Any, accumulator: Any, ids: Any = None) -> Part:
    """Updates the distinct rows of `ids`, or all rows."""
    import tensorflow as tf

    rows = tf.range(table.shape[0]) if ids is None else tf.unique(ids)[0]
    arguments = {"var": table.handle, "accum": accumulator.handle, "lr": 0.1, "epsilon": 1e-10}
    arguments["grad"] = tf.random.normal([len(rows), table.shape[1]], stddev=1e-6)

    def run() -> tf.Tensor:
        if ids is None:
            tf.raw_ops.ResourceApplyAdagradV2(**arguments)
        else:
            tf.raw_ops.ResourceSparseApplyAdagradV2(**arguments, indices=rows)
        return tf.constant(0.0)

    return Part(run, 1e-6 * len(rows), "Mrows/s")


def _products(num_queries: int, num_candidates: int, width: int) -> dict[str, Part]:
    """Returns the three bfloat16 products of a softmax over candidates."""
    import tensorflow as tf

    def draw(*shape: int) -> tf.Tensor:
        return tf.cast(tf.random.normal(shape), tf.bfloat16)

    queries, candidates = draw(num_queries, width), draw(num_candidates, width)
    scores = draw(num_queries, num_candidates)

    def product(left: tf.Tensor, right: tf.Tensor, **transposed: bool) -> Part:
        return Part(
            lambda: tf.cast(tf.linalg.matmul(left, right, **transposed)[0, 0], tf.float32),
            2e-9 * num_queries * num_candidates * width,
            "GFLOP/s",
        )

    return {
        "product: scores": product(queries, candidates, transpose_b=True),
        "product: queries": product(scores, candidates),
        "product: candidates": product(scores, queries, transpose_a=True),
    }


if __name__ == "__main__":
    run_program(main)
