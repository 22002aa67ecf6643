import numpy as np
import tensorflow as tf

from benchmarks.distributed import count_batch
from quatre_tf.data.batches import Batches
from trainers.training.config import TrainConfig


class FixedBatches(Batches):
    """Two positives with a negative each: (0, 0, 1) and (2, 0, 1), corrupted by 3 and by 4."""

    batch_size = 2

    def make(self, step, first, size):
        columns = {"heads": [0, 2], "tails": [1, 1], "corrupted": [[3], [4]]}
        return {key: tf.constant(rows)[first : first + size] for key, rows in columns.items()}


def test_bytes_by_hand():
    """A row of one quaternion has 16 bytes, and 4 for its id where it is a gradient."""
    config = TrainConfig("any", embedding_dim=1)
    # One worker: entities 0 2 1 1 3 4 are six readings of five rows.
    np.testing.assert_array_equal(count_batch(FixedBatches(), 0, config, 1), [0, 6 * 16, 5 * 20])
    # Two: 0 1 3 and 2 1 4, three distinct rows each.
    np.testing.assert_array_equal(count_batch(FixedBatches(), 0, config, 2), [60, 3 * 16, 3 * 20])
