"""Compiled operations: building, finding, refusing.

test_sampled_logistic.py and test_optimizers.py have what they compute.
"""

import keras
import numpy as np
import pytest
import tensorflow as tf

from quatre_tf import QuatRE
from quatre_tf.accelerated import kernel
from quatre_tf.layers.relation_rotations import RelationRotations
from quatre_tf.objectives.sampled_logistic import compiled_operation, sampled_logistic_objective
from quatre_tf.optimizers import SparseAdagrad
from tests.batches import random_batch

NOTHING = {
    "rows": tf.ones([0, 8]),
    "relation_index": np.zeros(0, np.int32),
    "tail_corrupted": np.zeros([0, 3], bool),
    "segments": np.zeros(0, np.int32),
    "num_segments": 0,
}

ROTATIONS = RelationRotations(1, 1)


@pytest.fixture
def operation(use_kernel):
    return kernel.operations().quatre_sampled_logistic


@pytest.fixture
def adagrad(use_kernel):
    """Updates rows of a table of ones, and returns it with the value of it that was read before."""

    def update(shape=(4, 8), sums=None, **changes):
        table = tf.Variable(tf.ones(shape))
        before = table.value()
        accumulator = tf.Variable(tf.zeros(shape) if sums is None else sums)
        right = {"grad": tf.ones([2, 8]), "indices": [3, 1], "lr": 0.5, "epsilon": 1e-10}
        kernel.operations().quatre_adagrad(
            var=table.handle, accum=accumulator.handle, **{**right, **changes}
        )
        return table, before

    return update


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("QUATRE_ENABLE_KERNEL", "1")
    return tmp_path


def operands(**changes):
    """Two positives with one negative each, of entities 0 1 | 2 0 | 3 1."""
    right = {
        "rows": tf.ones([6, 8]),
        "rotations": tf.ones([1, 8]),
        "relation_index": [0, 0],
        "tail_corrupted": [[True], [False]],
        "segments": [0, 1, 2, 0, 3, 1],
        "num_segments": 4,
        "scale": 1.0,
        "l2": 0.0,
    }
    return {**right, **changes}


def test_the_operation_takes_what_the_tests_below_change(operation):
    loss, squares, gradient, rotation_gradients = operation(**operands())
    assert np.isfinite(loss)
    assert squares == 8 * 8  # four triples, head and tail, eight ones each
    assert gradient.shape == (4, 8)
    assert rotation_gradients.shape == (2, 8)


def test_nothing_to_do(operation):
    """A replica may be left without a positive."""
    loss, squares, gradient, rotation_gradients = operation(**operands(**NOTHING))
    assert (loss, squares) == (0, 0)
    assert gradient.shape == rotation_gradients.shape == (0, 8)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rows": tf.ones([5, 8])}, "expected batch"),
        ({"segments": [0, 1, 2, 0, 3]}, "expected batch"),
        ({"tail_corrupted": [[True]]}, "expected batch"),
        ({"rotations": tf.ones([1, 4])}, "the same width"),
        ({"rows": tf.ones([6, 6]), "rotations": tf.ones([1, 6])}, "the same width"),
        ({"relation_index": [0, 1]}, "out of bounds"),
        ({"relation_index": [-1, 0]}, "out of bounds"),
        ({"segments": [0, 1, 2, 0, 4, 1]}, "out of bounds"),
        ({"segments": [0, 1, 2, 0, -1, 1]}, "out of bounds"),
        ({"num_segments": -1}, "from 0 to the number of rows"),
        ({"num_segments": 7}, "from 0 to the number of rows"),
        ({"num_segments": 5}, "each segment must have a row"),
        (NOTHING | {"num_segments": -1}, "from 0 to the number of rows"),
        (NOTHING | {"num_segments": 1}, "from 0 to the number of rows"),
    ],
)
def test_operands_that_do_not_fit_are_refused(operation, changes, message):
    """By the operation itself: memory is never read where there is none."""
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        operation(**operands(**changes))


@pytest.mark.parametrize("name", operands())
def test_ranks_are_checked(operation, name):
    """When it runs and, in a graph, when it is traced."""
    value = np.asarray(operands()[name])
    wrong = operands(**{name: np.asarray(value[np.newaxis], value.dtype.name.replace("64", "32"))})
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"rank {value.ndim} for {name}"):
        operation(**wrong)
    with pytest.raises(ValueError, match=f"rank {value.ndim}"):
        tf.function(lambda: operation(**wrong)).get_concrete_function()


def test_what_is_not_finite_stays_so(operation):
    """Training stops at a loss that is not finite: it must not be hidden."""
    rows = np.ones([6, 8], np.float32)
    rows[2, 3] = np.nan
    loss, _, gradient, _ = operation(**operands(rows=rows))
    assert np.isnan(loss)
    assert np.any(np.isnan(gradient))


def test_scores_far_from_zero(operation):
    """The logistic loss is the score itself there, and does not overflow."""
    rows = tf.fill([6, 8], 1e4)
    loss, _, gradient, _ = operation(**operands(rows=rows, rotations=[[1.0] * 2 + [0.0] * 6]))
    # Positives have score 8e8 and no loss; negatives have the score as their loss.
    np.testing.assert_allclose(loss, 2 * 8e8, rtol=1e-6)
    assert np.all(np.isfinite(gradient))


def test_score_functions_made_of_rotations_are_not_taken_for_them(use_kernel):
    class Other(RelationRotations):
        pass

    assert compiled_operation(ROTATIONS) is not None
    assert compiled_operation(Other(1, 1)) is None


def test_the_same_bits_every_time(rng, operation):
    """Whichever of the threads does which part."""
    model = QuatRE(2000, 5, 32)
    batch = random_batch(rng, 2000, 5, batch_size=800, num_negatives=10)
    first, *others = (
        sampled_logistic_objective(model, batch, l2=0.1, num_triples=8800) for _ in range(4)
    )
    for other in others:
        assert other.loss == first.loss
        for gradient, expected in zip(other.gradients, first.gradients, strict=True):
            np.testing.assert_array_equal(gradient.values, expected.values)


def test_the_operation_is_what_steps_are_made_of(rng, operation):
    model = QuatRE(17, 5, 6)
    batch = random_batch(rng, 17, 5, batch_size=12, num_negatives=4)

    @tf.function
    def step():
        return sampled_logistic_objective(model, batch, l2=0.1, num_triples=60).loss

    operations = [op.type for op in step.get_concrete_function().graph.get_operations()]
    assert operations.count("QuatreSampledLogistic") == 1
    assert "SparseMatrixMatMul" not in operations[: operations.index("QuatreSampledLogistic")]


def test_where_it_cannot_be_steps_are_made_of_tensorflow(operation, monkeypatch):
    assert compiled_operation(ROTATIONS) is operation is not None
    assert compiled_operation(ROTATIONS, tf.float64) is None
    with monkeypatch.context() as patch:
        patch.setattr(tf.config, "list_logical_devices", lambda kind: [kind])
        assert compiled_operation(ROTATIONS) is None
    servers = object.__new__(tf.distribute.ParameterServerStrategy)
    monkeypatch.setattr(tf.distribute, "get_strategy", lambda: servers)
    assert compiled_operation(ROTATIONS) is None


def test_rows_change_in_place_but_not_a_value_that_was_read(adagrad):
    table, before = adagrad()
    np.testing.assert_array_equal(table.numpy(), np.repeat([[1.0], [0.5], [1.0], [0.5]], 8, axis=1))
    np.testing.assert_array_equal(before, np.ones([4, 8]))


def test_no_rows(adagrad):
    table, _ = adagrad(grad=tf.ones([0, 8]), indices=np.zeros(0, np.int32))
    np.testing.assert_array_equal(table.numpy(), np.ones([4, 8]))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"indices": [3]}, "one row of the gradient for each index"),
        ({"indices": [[3, 1]]}, "one row of the gradient for each index"),
        ({"grad": tf.ones([2, 7])}, "one row of the gradient for each index"),
        ({"grad": tf.ones([16])}, "one row of the gradient for each index"),
        ({"indices": [3, 4]}, "indices out of bounds"),
        ({"indices": [-1, 3]}, "indices out of bounds"),
        ({"lr": [0.5]}, "must be scalars"),
        ({"epsilon": [0.5]}, "must be scalars"),
        ({"sums": tf.zeros([4, 7])}, "the same shape, with rows"),
        ({"sums": tf.zeros([4, 8], tf.float64)}, "must be float32"),
        ({"shape": (), "sums": 0.0}, "the same shape, with rows"),
    ],
)
def test_operands_of_an_update_that_do_not_fit_are_refused(adagrad, changes, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        adagrad(**changes)


@pytest.mark.parametrize(("dtype", "updates"), [("float32", 1), ("float64", 0)])
def test_rows_of_tables_are_updated_by_it(use_kernel, dtype, updates):
    """Not those of other dtypes, nor dense gradients, where it would gain nothing."""
    ones = tf.ones([5, 3], dtype)
    rows = tf.IndexedSlices(ones[:2], tf.constant([4, 0]), tf.constant([5, 3]))
    variables = [keras.Variable(start, dtype=dtype) for start in (ones, ones)]
    optimizer = SparseAdagrad()
    optimizer.build(variables)

    @tf.function
    def step(*gradients):
        optimizer.apply(gradients, variables)

    traced = step.get_concrete_function(rows, ones)
    operations = [operation.type for operation in traced.graph.get_operations()]
    assert operations.count("QuatreAdagrad") == updates
    assert sum("ApplyAdagradV2" in name for name in operations) == 2 - updates


def test_it_is_used_where_it_was_built_and_not_switched_off(kernel_cache, empty_cache, monkeypatch):
    assert kernel.operations() is None
    monkeypatch.setenv("XDG_CACHE_HOME", str(kernel_cache))
    assert kernel.operations() is not None
    monkeypatch.setenv("QUATRE_ENABLE_KERNEL", "0")
    assert kernel.operations() is None


def test_one_of_another_release_is_not_taken(empty_cache, monkeypatch):
    here = kernel.library_path()
    assert here.parent == empty_cache / "quatre_tf"
    for owner, name in ((tf, "__version__"), (tf.version, "GIT_VERSION")):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, "v9.9.9")
            assert kernel.library_path() != here
    source = empty_cache / "operation.cc"
    source.write_text("// another\n", encoding="utf-8")
    for name in ("_SOURCES", "_HEADERS"):
        with monkeypatch.context() as patch:
            patch.setattr(kernel, name, [source])
            assert kernel.library_path() != here


def test_a_library_that_cannot_be_loaded(empty_cache, monkeypatch):
    monkeypatch.setattr(kernel, "_loaded", {})
    path = kernel.library_path()
    path.parent.mkdir()
    path.write_bytes(b"not a library")
    with pytest.raises(kernel.KernelError, match=f"Cannot load {path}.*Build it again"):
        kernel.operations()


def test_no_compiler_is_found(empty_cache, monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler -O2")
    with pytest.raises(kernel.KernelError, match=r"looked for no-such-compiler\. .*apt install g"):
        kernel.build()
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", str(empty_cache))
    with pytest.raises(kernel.KernelError, match="looked for g"):
        kernel.build()
    assert list(empty_cache.iterdir()) == []


# The argument after -o is the file to write.
WRITES = 'while [ "$1" != -o ]; do shift; done; echo broken > "$2"'


@pytest.mark.parametrize(
    ("compiler", "message"),
    [
        ("#!/bin/sh\necho 'error: too old' >&2; exit 3", "ended with 3:\nerror: too old"),
        ("not a program", "Cannot run .*Exec format error"),
        (f"#!/bin/sh\n{WRITES}", "What the compiler made cannot be loaded"),
        ("#!/bin/sh\nexit 0", "What the compiler made cannot be loaded"),
    ],
)
def test_a_compiler_that_fails_replaces_nothing(empty_cache, monkeypatch, compiler, message):
    """The process that tries to load the library is a stand-in: it looks whether it is one."""
    path = kernel.library_path()
    path.parent.mkdir()
    path.write_bytes(b"what was there")
    for name, script in (("compiler", compiler), ("python", '#!/bin/sh\ngrep -q ELF "$3"')):
        (empty_cache / name).write_text(f"{script}\n", encoding="utf-8")
        (empty_cache / name).chmod(0o755)
    monkeypatch.setenv("CXX", str(empty_cache / "compiler"))
    monkeypatch.setattr("sys.executable", str(empty_cache / "python"))
    with pytest.raises(kernel.KernelError, match=message):
        kernel.build()
    assert list(path.parent.iterdir()) == [path]
    assert path.read_bytes() == b"what was there"


def test_a_folder_that_cannot_be_written_to(empty_cache, monkeypatch):
    blocked = empty_cache / "file"
    blocked.touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    with pytest.raises(kernel.KernelError, match=r"Cannot write .*Not a directory.*XDG_CACHE_HOME"):
        kernel.build()
