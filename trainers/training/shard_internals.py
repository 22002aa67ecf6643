"""The private part of TensorFlow's parameter servers that checkpoints need.

tests/trainers/training/test_shard_internals.py says what to do when a new TensorFlow changes
it.
"""

import tensorflow as tf


def joined(shards: list[tf.Variable]) -> tf.Variable:
    """Returns one object for the shards of a table, which a checkpoint holds as one tensor."""
    if len(shards) == 1:
        return shards[0]
    return tf.__internal__.distribute.ShardedVariable(shards)
