import math
import os

# Before TensorFlow is imported anywhere: its start-up notes are not ours.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import pytest
import tensorflow as tf

from benchmarks.holdings import holdings


def pytest_configure():
    """Two logical CPUs: MirroredStrategy needs them, and they must exist before the first op."""
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)


@pytest.fixture
def rng():
    return np.random.default_rng(20220501)


@pytest.fixture
def strategy(request):
    """A strategy by name, for `parametrize("strategy", [...], indirect=True)`."""
    if request.param == "mirrored":
        return tf.distribute.MirroredStrategy(
            ["CPU:0", "CPU:1"], cross_device_ops=tf.distribute.ReductionToOneDevice()
        )
    if request.param == "one_device":
        return tf.distribute.OneDeviceStrategy("CPU:0")
    return tf.distribute.get_strategy()


@pytest.fixture
def allocated():
    """`allocated()` -> MB in use by this process, to the byte."""
    if math.isnan(holdings()["allocated"]):
        pytest.skip("the C library does not tell what is allocated (glibc does from 2.33 on)")
    return lambda: holdings()["allocated"]
