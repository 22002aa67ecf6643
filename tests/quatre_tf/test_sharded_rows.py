"""Each server makes its part of the initial table; the rest is in test_distributed.py."""

import keras
import numpy as np
import pytest

from quatre_tf.sharded_rows import initial_rows


@pytest.mark.parametrize("shape", [(1001, 128), (37, 3), (4001, 6)])
@pytest.mark.parametrize(
    "initializer",
    [
        keras.initializers.RandomNormal(mean=0.5, stddev=1e-3, seed=7),
        keras.initializers.RandomNormal(stddev=1.0),
        keras.initializers.GlorotUniform(seed=2**40),
        keras.initializers.RandomUniform(seed=1),
    ],
)
def test_parts_are_those_of_the_whole(initializer, shape):
    whole, count = initializer(shape), shape[0]
    for start, stop in [(0, count), (0, 1), (count // 3, count // 2), (count - 1, count), (1, 1)]:
        part = initial_rows(initializer, shape, start, stop)
        np.testing.assert_array_equal(part, whole[start:stop])
