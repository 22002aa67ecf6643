"""Times a training step of the `paper` recipe beside its unavoidable parts.

    python -m benchmarks.train_step --shape=wn18rr

The unavoidable parts are measured in the same run on the same rows: gathering the entity rows of
the batch, adding up as many gradient rows by entity, and TensorFlow's sparse Adagrad kernel on the
distinct rows. The batches are random ids of the benchmark's size; the input pipeline is not in it.
"""

from collections.abc import Callable, Sequence

import numpy as np
from absl import flags

from benchmarks import measure
from datasets.program import import_tensorflow, run_program

# (entities, relations, quaternions, positives per step, negatives per positive)
SHAPES = {
    "wn18rr": (40_943, 11, 256, 868, 5),
    "fb15k237": (14_541, 237, 384, 2_721, 10),
    "wn18": (40_943, 18, 256, 1_414, 10),
    "fb15k": (14_951, 1_345, 384, 4_831, 5),
}
_SIZES = ("entities", "relations", "quaternions", "positives", "negatives")
# Steps in one call, as in training: what a call costs is spread over them.
_STEPS = 10

_SHAPE = flags.DEFINE_enum("shape", "wn18rr", list(SHAPES), "Benchmark whose sizes to use.")
_ROUNDS = flags.DEFINE_integer("rounds", 15, "Measurements; the median is reported.")
_OUTPUT = flags.DEFINE_string("output", None, "JSON file to write.")


def main(argv: Sequence[str]) -> None:
    """Measures and prints."""
    del argv
    import_tensorflow()
    calls = _calls(*SHAPES[_SHAPE.value])
    times = measure.interleaved(calls, rounds=_ROUNDS.value)
    times = {name: value / _STEPS for name, value in times.items()}
    floor = sum(value for name, value in times.items() if name != "step")
    for name, value in times.items():
        print(f"{name:22s} {value:8.2f} ms")
    print(f"{'unavoidable parts':22s} {floor:8.2f} ms")
    print(f"step / unavoidable     {times['step'] / floor:8.2f}")
    record = {
        "benchmark": "train_step",
        "command": f"python -m benchmarks.train_step --shape={_SHAPE.value}",
        "shape": dict(zip(_SIZES, SHAPES[_SHAPE.value], strict=True)),
        "milliseconds": times,
        "floor_milliseconds": floor,
        "ratio": times["step"] / floor,
    }
    measure.write_json(_OUTPUT.value, record)


def _calls(
    num_entities: int, num_relations: int, dim: int, positives: int, negatives: int
) -> dict[str, Callable]:
    import tensorflow as tf

    from quatre_tf import QuatRE
    from quatre_tf.optimizers import SparseAdagrad
    from quatre_tf.sampled_logistic import SampledBatch, sampled_logistic_objective

    rng = np.random.default_rng(0)

    def draw(bound: int, *shape: int) -> tf.Tensor:
        return tf.constant(rng.integers(0, bound, shape), tf.int32)

    model = QuatRE(num_entities, num_relations, dim)
    optimizer = SparseAdagrad(0.1, global_clipnorm=0.5)
    optimizer.build(model.trainable_variables)
    batch = SampledBatch(
        draw(num_entities, positives),
        draw(num_relations, positives),
        draw(num_entities, positives),
        draw(num_entities, positives, negatives),
        tf.constant(rng.random((positives, negatives)) < 0.5),
    )

    def step() -> tf.Tensor:
        objective = sampled_logistic_objective(
            model, batch, l2=0.5, num_triples=positives * (1 + negatives)
        )
        optimizer.apply(objective.gradients, model.trainable_variables)
        return objective.loss

    ids = tf.concat([batch.heads, batch.tails, tf.reshape(batch.corrupted, [-1])], axis=0)
    unique_ids, index = tf.unique(ids)
    order = tf.argsort(index)
    sorted_index = tf.gather(index, order)
    row_gradients = tf.random.normal([ids.shape[0], 4 * dim], stddev=1e-6)
    unique_gradients = tf.random.normal([unique_ids.shape[0], 4 * dim], stddev=1e-6)
    table = model.entities.embeddings.value
    accumulator = tf.Variable(tf.zeros_like(table))

    def gather() -> tf.Tensor:
        return tf.nn.embedding_lookup(table, ids)[0, 0]

    def segment_sum() -> tf.Tensor:
        # Sorted first: quicker than tf.math.unsorted_segment_sum, which has one thread.
        return tf.math.segment_sum(tf.gather(row_gradients, order), sorted_index)[0, 0]

    def sparse_adagrad() -> tf.Tensor:
        tf.raw_ops.ResourceSparseApplyAdagradV2(
            var=table.handle,
            accum=accumulator.handle,
            lr=0.1,
            epsilon=1e-10,
            grad=unique_gradients,
            indices=unique_ids,
        )
        return tf.constant(0.0)

    parts = {
        "step": step,
        "gather": gather,
        "segment sum": segment_sum,
        "sparse Adagrad": sparse_adagrad,
    }
    return {
        name: _repeated(part) for name, part in {**parts, "sparse Adagrad": sparse_adagrad}.items()
    }


def _repeated(part: Callable) -> Callable:
    """Returns a call that does the part `_STEPS` times and waits for the end."""
    import tensorflow as tf

    @tf.function(autograph=False)
    def repeated() -> tf.Tensor:
        def body(done: tf.Tensor, total: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            return done + 1, total + part()

        start = (tf.constant(0), tf.constant(0.0))
        return tf.while_loop(lambda done, _: done < _STEPS, body, start, parallel_iterations=1)[1]

    return lambda: repeated().numpy()


if __name__ == "__main__":
    run_program(main)
