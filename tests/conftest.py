import gc
import os
import shlex
import subprocess
import sys

# Before TensorFlow is imported anywhere: its start-up notes are not ours.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

# Compiled operations that the developer has are not tested, but by `step_made_of`.
os.environ["QUATRE_ENABLE_KERNEL"] = "0"

import filelock
import hypothesis
import numpy as np
import pytest

from tests.resource_usage import allocated_megabytes

# `pytest -m fast` runs these files, folders and single tests. In about a minute they show whether a
# formula, a rank, a filter, a corruption, a setting, a resumed run or a signature is broken.
FAST = (
    "tests/test_architecture.py",
    "tests/quatre_tf/data/",
    "tests/quatre_tf/layers/",
    "tests/quatre_tf/objectives/",
    "tests/quatre_tf/ranking/test_golden_ranking.py",
    "tests/quatre_tf/ranking/test_ranking.py",
    "tests/quatre_tf/ranking/test_statistics.py",
    "tests/quatre_tf/ranking/test_tiled_ranking.py",
    "tests/quatre_tf/test_metrics.py",
    "tests/quatre_tf/test_optimizers.py",
    "tests/quatre_tf/test_quaternion.py",
    "tests/quatre_tf/test_quatre.py",
    "tests/quatre_tf/test_sparse_rows.py",
    "tests/datasets/test_catalog.py",
    "tests/datasets/test_splitting.py",
    "tests/datasets/test_triples.py",
    "tests/saved_models/test_scorer.py",
    "tests/trainers/training/test_config.py",
    "tests/trainers/training/test_fitting.py::test_resumed_run_equals_the_uninterrupted_one[config]",
    "tests/trainers/training/test_outer_loop.py",
    "tests/trainers/training/test_planning.py",
    "tests/trainers/training/test_presets.py",
    "tests/trainers/training/test_settings.py",
    "tests/trainers/training/test_steps.py",
)

# The same examples in every run, however slow the machine: CONTRIBUTING.md has the command that
# searches for new ones.
hypothesis.settings.register_profile(
    "suite",
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[
        hypothesis.HealthCheck.too_slow,
        hypothesis.HealthCheck.function_scoped_fixture,
    ],
)
hypothesis.settings.load_profile("suite")

# TensorFlow in a test process holds this much.
_GIGABYTES_A_PROCESS = 2.0


def pytest_configure(config):
    """Two logical CPUs: MirroredStrategy needs them, and they must exist before the first op."""
    if config.getoption("numprocesses", None):
        return  # this process hands out the tests and runs none: it needs no TensorFlow
    import tensorflow as tf

    # Imported modules are never garbage: no collection needs to search them.
    gc.freeze()
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup():
    """Makes tables with unseeded initializers equal in every run, including tables of fixtures."""
    import keras

    keras.utils.set_random_seed(1)


def pytest_collection_modifyitems(items):
    for item in items:
        if item.nodeid.startswith(FAST) and not _needs_the_kernel(item):
            item.add_marker(pytest.mark.fast)


def _needs_the_kernel(item):
    """Building it takes far longer than any fast test: the whole suite does."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    return "kernel_cache" in item.fixturenames or parameters.get("step_made_of") == "kernel"


def pytest_xdist_auto_num_workers(config):
    """A process for each core, if memory allows; none for single tests and for `-s`."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None  # xdist reads it
    if config.option.capture == "no" or all("::" in argument for argument in config.args):
        return 0
    gigabytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9
    return max(1, min(len(os.sched_getaffinity(0)), int(gigabytes / _GIGABYTES_A_PROCESS)))


@pytest.fixture
def rng():
    return np.random.default_rng(20220501)


@pytest.fixture
def strategy(request):
    """A strategy by name, for `parametrize("strategy", [...], indirect=True)`."""
    import tensorflow as tf

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
    if allocated_megabytes() is None:
        pytest.skip("the C library does not tell what is allocated (glibc does from 2.33 on)")
    return allocated_megabytes


@pytest.fixture
def archive_dir():
    """The folder of the real archives."""
    from tests.golden import folder_from

    return folder_from("QUATRE_MANUAL_DIR")


@pytest.fixture(scope="session")
def kernel_cache(pytestconfig):
    """A cache folder with the compiled operations; pytest's cache keeps it for the next run."""
    import tensorflow as tf

    from quatre_tf.accelerated import kernel

    try:
        kernel.compiler()
    except kernel.KernelError as error:
        pytest.skip(str(error))
    if tf.config.list_physical_devices("GPU"):
        pytest.skip("compiled operations are for CPUs")
    cache = pytestconfig.cache.mkdir("kernel")
    with filelock.FileLock(cache / "lock"), pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(cache))
        if not kernel.library_path().exists():
            build_kernel(cache, kernel)
    return cache


def build_kernel(cache, kernel):
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
    assert done.stdout == f"Compiled: {kernel.library_path()}\n"


@pytest.fixture
def use_kernel(kernel_cache, monkeypatch):
    """Makes training use compiled operations, in processes that are started too."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(kernel_cache))
    monkeypatch.setenv("QUATRE_ENABLE_KERNEL", "1")


@pytest.fixture(params=["tensorflow", "kernel"])
def step_made_of(request):
    """Steps of TensorFlow's operations and of compiled ones."""
    from quatre_tf.layers.relation_rotations import RelationRotations
    from quatre_tf.objectives.sampled_logistic import compiled_operation

    if request.param == "kernel":
        request.getfixturevalue("use_kernel")
    assert (compiled_operation(RelationRotations(1, 1)) is not None) == (request.param == "kernel")
    return request.param
