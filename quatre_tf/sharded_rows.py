"""Tables whose rows are divided among parameter servers."""

import math
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import keras
import numpy as np
import tensorflow as tf

# Random numbers that one step of the counter of a generator stands for.
_NUMBERS_PER_COUNT = 4
_PHILOX = 1


class ShardedRows:
    """Reads the rows of a `ShardedVariable` in parts: nothing ever holds the table.

    It stands in for the tensor `[num_rows, width]` where one tile after the other is read.

    Args:
        table: A table on parameter servers.

    Attributes:
        table: The variable.
        shape: Of the whole table.
        dtype: Of the table.
    """

    def __init__(self, table: Any):
        self.table = table
        self.shape, self.dtype = table.shape, table.dtype

    def __getitem__(self, part: slice) -> tf.Tensor:
        """Returns the rows from `part.start` to before `part.stop`, both int64 scalars."""
        found = []
        for shard, first in shards_of(self.table):
            bounds = [
                tf.clip_by_value(end - first, 0, shard.shape[0]) for end in (part.start, part.stop)
            ]
            # A gather reads the rows that it is given; a slice would read the shard before.
            found.append(tf.gather(shard, tf.range(*bounds)))
        return tf.concat(found, axis=0)


Rows: TypeAlias = "tf.Tensor | ShardedRows"


def rows_of(table: Any) -> Rows:
    """Returns the rows of a variable `[num_rows, width]`, wherever they are."""
    return ShardedRows(table) if is_sharded(table) else tf.convert_to_tensor(table)


def lookup_rows(table: Any, ids: tf.Tensor) -> tf.Tensor:
    """Returns the rows `[..., width]` of ids in a variable, wherever they are."""
    if is_sharded(table) and tf.executing_eagerly():
        # Operations called one by one read all rows of the servers.
        lookup = tf.function(lambda ids: tf.nn.embedding_lookup(table, ids), autograph=False)
        return lookup(ids)
    return tf.nn.embedding_lookup(table, ids)


def num_rows(rows: Rows) -> tf.Tensor:
    """Returns an int64 scalar."""
    if isinstance(rows, ShardedRows):
        return tf.constant(rows.shape[0], tf.int64)
    return tf.shape(rows, tf.int64)[0]


def gather_rows(rows: Rows, ids: tf.Tensor) -> tf.Tensor:
    """Returns `[..., width]` for ids."""
    return lookup_rows(rows.table, ids) if isinstance(rows, ShardedRows) else tf.gather(rows, ids)


def sum_of_squares(rows: Rows) -> tf.Tensor:
    """Returns a float64 scalar; each server adds its own."""
    if isinstance(rows, ShardedRows):
        losses = [there(tf.nn.l2_loss, shard) for shard, _ in shards_of(rows.table)]
    else:
        losses = [tf.nn.l2_loss(rows)]
    return 2.0 * tf.add_n([tf.cast(loss, tf.float64) for loss in losses])


def is_sharded(table: Any) -> bool:
    """Returns whether a variable is a `ShardedVariable`, of which TensorFlow exports no name."""
    return hasattr(table, "variables")


def shards_of(table: Any) -> Iterator[tuple[tf.Variable, int]]:
    """Yields the variables that hold the rows of a table, each with the number of its first row."""
    if not is_sharded(table):
        yield table, 0
        return
    first = 0
    for shard in table.variables:
        yield shard, first
        first += shard.shape[0]


def there(function: Callable[[tf.Variable], Any], variable: tf.Variable) -> Any:
    """Returns what a function makes of a variable, computed where the variable is."""
    with tf.device(variable.device):
        return function(variable)


def initial_rows(
    initializer: keras.initializers.Initializer, shape: tuple[int, int], start: int, stop: int
) -> tf.Tensor:
    """Returns rows of the float32 table that an initializer makes, without making the others.

    TensorFlow's random numbers are a function of a key and a counter, so a part of them begins at a
    later count.

    Args:
        initializer: A `RandomNormal` or `GlorotUniform`; any other makes the whole table.
        shape: Of the table.
        start: First row.
        stop: After the last row.
    """
    num_rows, width = shape
    if isinstance(initializer, keras.initializers.RandomNormal):
        draw, scale, shift = (
            tf.raw_ops.StatelessRandomNormalV2,
            initializer.stddev,
            initializer.mean,
        )
    elif isinstance(initializer, keras.initializers.GlorotUniform):
        limit = np.float32(math.sqrt(6.0 / (num_rows + width)))
        draw, scale, shift = tf.raw_ops.StatelessRandomUniformV2, limit + limit, -limit
    else:
        return initializer(shape, dtype="float32")[start:stop]
    seed = [initializer.seed % (tf.int32.max - 1), 0]
    key, counter = tf.raw_ops.StatelessRandomGetKeyCounter(seed=tf.constant(seed, tf.int32))
    count, skipped = divmod(start * width, _NUMBERS_PER_COUNT)
    length = skipped + (stop - start) * width
    numbers = draw(
        shape=[length], key=key, counter=counter + tf.constant([count, 0], tf.uint64), alg=_PHILOX
    )
    return tf.reshape(numbers[skipped:] * scale + shift, [-1, width])
