"""The private class behind trainers/training/shard_internals.py means what it did.

When a test here fails after an upgrade, TensorFlow changed. `ShardedVariable` is in
`tensorflow/python/distribute/sharded_variable.py`; find its new name and change
trainers/training/shard_internals.py only. The format of checkpoints must stay: one tensor for
all shards of a table, so that a checkpoint restores with any number of servers.
"""

import numpy as np
import tensorflow as tf

from trainers.training.shard_internals import joined

REMEDY = "TensorFlow changed ShardedVariable: see the docstring of this file."
ROWS = np.arange(10, dtype=np.float32).reshape(5, 2)


def shards(*rows):
    # As a parameter-server strategy makes them: names with the number of the part.
    return [tf.Variable(part, name=f"table/part_{i}") for i, part in enumerate(rows)]


def save(shards, path):
    return tf.train.Checkpoint(table=joined(shards)).write(str(path))


def test_a_checkpoint_holds_shards_as_one_tensor(tmp_path):
    path = save(shards(ROWS[:3], ROWS[3:]), tmp_path / "checkpoint")
    reader = tf.train.load_checkpoint(path)
    np.testing.assert_array_equal(
        reader.get_tensor("table/.ATTRIBUTES/VARIABLE_VALUE"), ROWS, err_msg=REMEDY
    )


def test_a_checkpoint_restores_into_other_shards_and_into_one_variable(tmp_path):
    path = save(shards(ROWS[:3], ROWS[3:]), tmp_path / "checkpoint")
    for sizes in ([2, 2, 1], [5]):
        restored = shards(*np.split(np.zeros_like(ROWS), np.cumsum(sizes)[:-1]))
        tf.train.Checkpoint(table=joined(restored)).read(path).assert_consumed()
        np.testing.assert_array_equal(tf.concat(restored, axis=0), ROWS, err_msg=REMEDY)
