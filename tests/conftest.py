import math
import os
import shlex
import subprocess
import sys

# Before TensorFlow is imported anywhere: its start-up notes are not ours.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

# A compiled step that the developer has is not what is tested, but by `step_made_of`.
os.environ["QUATRE_ENABLE_KERNEL"] = "0"

import filelock
import numpy as np
import pytest
import tensorflow as tf

from benchmarks.resource_usage import resource_usage
from quatre_tf.accelerated import kernel
from quatre_tf.objectives.sampled_logistic import compiled_operation


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
    if math.isnan(resource_usage()["allocated"]):
        pytest.skip("the C library does not tell what is allocated (glibc does from 2.33 on)")
    return lambda: resource_usage()["allocated"]


@pytest.fixture(scope="session")
def kernel_cache(tmp_path_factory):
    """A cache folder with the compiled step; made once for all test processes."""
    try:
        kernel.compiler()
    except kernel.KernelError as error:
        pytest.skip(str(error))
    if tf.config.list_physical_devices("GPU"):
        pytest.skip("the compiled step is for CPUs")
    root = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent
    cache = root / "cache"
    with filelock.FileLock(root / "cache.lock"):
        if not any(cache.rglob("*.so")):
            build_kernel(cache)
    return cache


def build_kernel(cache):
    """By its program, without a warning."""
    compiler = shlex.join([*kernel.compiler(), "-Wall", "-Wextra", "-Werror"])
    done = subprocess.run(
        [sys.executable, "-m", "trainers.build_kernel"],
        env={**os.environ, "XDG_CACHE_HOME": str(cache), "CXX": compiler},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (library,) = (cache / "quatre_tf").iterdir()
    assert done.stdout == f"Compiled: {library}\n"


@pytest.fixture
def use_kernel(kernel_cache, monkeypatch):
    """Makes the paper's steps compiled ones; returns the environment that does so elsewhere."""
    environment = {"XDG_CACHE_HOME": str(kernel_cache), "QUATRE_ENABLE_KERNEL": "1"}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return environment


@pytest.fixture(params=["tensorflow", "kernel"])
def step_made_of(request):
    """The paper's step in both of its forms."""
    if request.param == "kernel":
        request.getfixturevalue("use_kernel")
    assert (compiled_operation() is not None) == (request.param == "kernel")
    return request.param
