"""The entity table in the forms that ranking reads."""

import functools
import time
from typing import NamedTuple

import tensorflow as tf

# On x86 CPUs a product with any number of queries from 16 on was found to be rounded alike, and one
# with fewer otherwise: so a query alone gets the rank that it has among others.
ROW_MULTIPLE = 16
# The square of a smaller element may vanish: so much of each element a norm does not see.
_UNSEEN = 1.2e-19
# A bfloat16 product that is not much quicker than one in float32 does not pay for the rest.
_QUICKER = 2.0
# Rows whose norms are taken at once.
_ROWS = 1024
# Rows of a sample.
_SAMPLE = 512
# Below so many floats of a table or of a row the operations around the products cost more than they
# save, and below so many queries the copy of the table does.
_LARGE, _WIDE, _MANY = 2**20, 256, 512


class Rough(NamedTuple):
    """Vectors rounded to bfloat16, and how far they are from the exact ones.

    Attributes:
        values: `[count, width]` bfloat16, or `[width, count]`.
        norms: `[count]` float32, no smaller than the norms of the exact vectors and of the
            rounded ones.
        errors: `[count]` float32, no smaller than the norms of the differences.
    """

    values: tf.Tensor
    norms: tf.Tensor
    errors: tf.Tensor

    @classmethod
    def of(cls, vectors: tf.Tensor) -> "Rough":
        """Rounds vectors `[count, width]` float32."""
        values = tf.cast(vectors, tf.bfloat16)
        return cls(values, *_norms_and_errors(vectors, values))

    def by_columns(self) -> "Rough":
        """Returns the same with values `[width, count]`."""
        return self._replace(values=tf.transpose(self.values))


class Screen(NamedTuple):
    """What `quatre_tf.ranking.screened` reads of the entities.

    Attributes:
        rows: All rows.
        sample: Some of them.
    """

    rows: Rough
    sample: Rough


class RankingTable(NamedTuple):
    """What `quatre_tf.ranking.tiles.count_tile` reads of the entities.

    Attributes:
        values: `[num_entities, width]` float32.
        norm: Float64, no smaller than the norm of any row; not finite if an element is not.
        screen: The rows in bfloat16; None: all scores are taken in float32.
    """

    values: tf.Tensor
    norm: tf.Tensor
    screen: Screen | None

    @property
    def exact(self) -> "RankingTable":
        """The same without the screen."""
        return self._replace(screen=None)


def ranking_table(values: tf.Tensor, screened: bool) -> RankingTable:
    """Prepares a table: one pass over it, and with `screened` a copy in half its memory.

    Args:
        values: `[num_entities, width]`: its dot products with a query are the query's scores.
        screened: Whether products in bfloat16 come first; see `screening_pays`.
    """
    # The norm of the whole table: no copy of it.
    norm = tf.sqrt(2.0 * tf.cast(tf.nn.l2_loss(values), tf.float64))
    if not screened:
        return RankingTable(values, norm, None)
    rows = Rough.of(values)
    # At random: neighbours in the order of names are often alike, and so is every second.
    picked = tf.random.stateless_uniform([_SAMPLE], (0, 0), 0, tf.shape(values)[0], tf.int32)
    sample = Rough(*(tf.gather(part, picked) for part in rows))
    return RankingTable(values, norm, Screen(rows, sample))


@tf.function(reduce_retracing=True)
def _norms_and_errors(vectors: tf.Tensor, values: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns `norms` and `errors` of `Rough`, with few vectors at a time in float32."""
    count = tf.shape(vectors)[0]
    norms, errors = (
        tf.TensorArray(tf.float32, 0, dynamic_size=True, infer_shape=False, element_shape=[None])
        for _ in range(2)
    )
    for start in tf.range(0, count, _ROWS):
        tf.autograph.experimental.set_loop_options(parallel_iterations=1)
        rows = slice(start, tf.minimum(start + _ROWS, count))
        exact, back = vectors[rows], tf.cast(values[rows], tf.float32)
        norms = norms.write(norms.size(), tf.maximum(_norm(exact), _norm(back)))
        errors = errors.write(errors.size(), _norm(exact - back))
    return norms.concat(), errors.concat()


def _norm(vectors: tf.Tensor) -> tf.Tensor:
    """Returns bounds `[count]` of norms, sure to be no smaller."""
    width = tf.cast(tf.shape(vectors)[1], tf.float32)
    # A sum of positive terms in float32 is wrong by 2^-24 of itself for each at the most.
    return tf.norm(vectors, axis=1) * (1.0 + width * 2.0**-24) + _UNSEEN * tf.sqrt(width)


def table_bytes(num_entities: int, width: int) -> int:
    """Returns the memory in bytes of `Screen` of a table, beside the sample."""
    return num_entities * (2 * width + 2 * 4)


def screening_pays(num_entities: int, width: int, num_queries: int) -> bool:
    """Returns whether ranking among a table of this shape is quicker with bfloat16 products first.

    That is so on a processor with matrix instructions for bfloat16 (AMX), if the products are
    large. Whether they are used is measured, once a process, in some 20 milliseconds.
    """
    is_large = num_entities * width >= _LARGE and width >= _WIDE and num_queries >= _MANY
    return is_large and _has_quick_bfloat16()


@functools.cache
def _has_quick_bfloat16() -> bool:
    # What screening is worth on an accelerator was never measured.
    if any(device.device_type != "CPU" for device in tf.config.list_physical_devices()):
        return False
    with tf.init_scope():
        seconds = {dtype: _product_seconds(dtype) for dtype in (tf.float32, tf.bfloat16)}
    return seconds[tf.float32] > _QUICKER * seconds[tf.bfloat16]


def _product_seconds(dtype: tf.DType) -> float:
    """Returns the least time of a product of the size of a small tile."""
    left, right = tf.ones([512, 1024], dtype), tf.ones([1024, 512], dtype)
    seconds = []
    for _ in range(4):
        start = time.perf_counter()
        tf.linalg.matmul(left, right).numpy()
        seconds.append(time.perf_counter() - start)
    return min(seconds)
