"""The operations whose speed bounds everything else, at the sizes of interest."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from benchmarks.step_parts import sparse_adagrad

_MIB = 2**20
# Rows, their width, columns. In training these are queries and candidates, in evaluation the
# entities and the queries of a tile.
_PRODUCTS = {
    "FB15k-237, n = 128": (1_000, 512, 14_541),
    "4,096 sampled, n = 128": (1_000, 512, 4_096),
    "4,096 sampled, n = 256": (1_000, 1_024, 4_096),
    "evaluation tile, n = 256": (3_072, 1_024, 512),
}
_GATHERED_BYTES = (512, 2_048, 4_096, 8_192)
_UPDATED_WIDTHS = (512, 1_024, 1_536)


class Limit(NamedTuple):
    """A call, and what it does.

    Attributes:
        call: Does it once and waits for the end.
        work: How much that is, in `unit` times a second.
        unit: `"GFLOP/s"`, `"GB/s"` or `"Mrows/s"`.
    """

    call: Callable[[], Any]
    work: float
    unit: str

    def rate(self, milliseconds: float) -> float:
        """Returns the speed in `unit` of a call that took so long."""
        return 1e3 * self.work / milliseconds


def limits(table_mib: int, num_threads: int) -> dict[str, Limit]:
    """Returns all limits by name.

    Args:
        table_mib: Size in MiB of the tables read at random; far above the processor's cache.
        num_threads: Threads of the memory copy; TensorFlow's operations have their own.
    """
    return {
        **_products(),
        **_copy(table_mib, num_threads),
        **_gathers(table_mib),
        **_updates(table_mib),
        **_segment_sums(table_mib),
    }


def _products() -> dict[str, Limit]:
    found = {}
    for name, (queries, width, candidates) in _PRODUCTS.items():
        for dtype in (tf.float32, tf.bfloat16):
            left = tf.cast(tf.random.normal([queries, width]), dtype)
            right = tf.cast(tf.random.normal([width, candidates]), dtype)
            work = 2e-9 * queries * width * candidates
            call = _compiled(tf.linalg.matmul, left, right)
            found[f"product {dtype.name}, {name}"] = Limit(call, work, "GFLOP/s")
    return found


def _copy(table_mib: int, num_threads: int) -> dict[str, Limit]:
    """NumPy copies in one thread and lets others run meanwhile; each byte is read and written."""
    source = np.ones([num_threads, table_mib * _MIB // num_threads], np.uint8)
    target = np.empty_like(source)
    pool = ThreadPoolExecutor(num_threads)

    def call() -> None:
        list(pool.map(np.copyto, target, source))

    return {"memory copy": Limit(call, 2e-9 * source.nbytes, "GB/s")}


def _gathers(table_mib: int) -> dict[str, Limit]:
    flat = tf.zeros([table_mib * _MIB // 4])
    found = {}
    for row_bytes in _GATHERED_BYTES:
        table = tf.reshape(flat, [-1, row_bytes // 4])
        ids = _random_ids(table.shape[0], table.shape[0] // 8)
        work = 1e-9 * row_bytes * ids.shape[0]
        found[f"gather, rows of {row_bytes:,} B"] = Limit(
            _compiled(tf.gather, table, ids), work, "GB/s"
        )
    return found


def _updates(table_mib: int) -> dict[str, Limit]:
    found = {}
    for width in _UPDATED_WIDTHS:
        rows = table_mib * _MIB // (4 * width)
        table, accumulator = (tf.Variable(tf.ones([rows, width])) for _ in range(2))
        ids = _random_ids(rows, rows // 8)
        gradients = tf.ones([ids.shape[0], width])
        call = _compiled(sparse_adagrad(table, accumulator, ids, gradients))
        found[f"sparse Adagrad, {width:,} floats"] = Limit(call, 1e-6 * ids.shape[0], "Mrows/s")
    return found


def _segment_sums(table_mib: int) -> dict[str, Limit]:
    """Sums of four rows each, on average; counted are the rows read."""
    found = {}
    for width in _UPDATED_WIDTHS:
        rows = tf.ones([table_mib * _MIB // (16 * width), width])
        segments = tf.sort(_random_ids(rows.shape[0] // 4, rows.shape[0], distinct=False))
        call = _compiled(tf.math.segment_sum, rows, segments)
        work = 4e-9 * width * rows.shape[0]
        found[f"segment sum, {width:,} floats"] = Limit(call, work, "GB/s")
    return found


def _random_ids(bound: int, count: int, *, distinct: bool = True) -> tf.Tensor:
    rng = np.random.default_rng(0)
    ids = rng.permutation(bound)[:count] if distinct else rng.integers(0, bound, count)
    return tf.constant(ids, tf.int32)


def _compiled(operation: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    """Returns a call that brings a single number back: the result stays where it is."""

    @tf.function(autograph=False)
    def call(*tensors: tf.Tensor) -> tf.Tensor:
        return tf.reshape(operation(*tensors), [-1])[0]

    return lambda: call(*arguments).numpy()
