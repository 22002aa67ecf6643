import numpy as np
import pytest
import tensorflow as tf

from quatre_tf import quaternion
from tests import reference

ONE, UNIT_I, UNIT_J, UNIT_K = np.eye(4, dtype=np.float32)[:, :, np.newaxis]


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (UNIT_I, UNIT_I, -ONE),
        (UNIT_J, UNIT_J, -ONE),
        (UNIT_K, UNIT_K, -ONE),
        (UNIT_I, UNIT_J, UNIT_K),
        (UNIT_J, UNIT_K, UNIT_I),
        (UNIT_K, UNIT_I, UNIT_J),
        (UNIT_J, UNIT_I, -UNIT_K),
        (UNIT_K, UNIT_J, -UNIT_I),
        (UNIT_I, UNIT_K, -UNIT_J),
        (ONE, UNIT_K, UNIT_K),
    ],
)
def test_units_multiply_as_hamilton_carved_them(left, right, expected):
    np.testing.assert_array_equal(quaternion.hamilton_product(left, right), expected)


def test_product_agrees_with_reference(rng):
    q, p = rng.normal(size=(2, 5, 4, 7))
    np.testing.assert_allclose(
        quaternion.hamilton_product(tf.constant(q), tf.constant(p)),
        reference.hamilton(q, p),
        rtol=1e-12,
    )


def test_conjugate_times_itself_is_squared_norm(rng):
    q = tf.constant(rng.normal(size=(3, 4, 2)))
    product = quaternion.hamilton_product(q, quaternion.conjugate(q)).numpy()
    np.testing.assert_allclose(product[:, 0], np.sum(q.numpy() ** 2, axis=1), rtol=1e-12)
    np.testing.assert_allclose(product[:, 1:], 0.0, atol=1e-12)


def test_normalize_gives_unit_quaternions(rng):
    q = rng.normal(size=(6, 4, 3)) * 1e-8
    units = quaternion.normalize(tf.constant(q, tf.float32))
    np.testing.assert_allclose(np.sum(np.square(units), axis=1), 1.0, rtol=1e-5)
    np.testing.assert_allclose(units, reference.unit(q), rtol=1e-5)


def test_zero_normalises_to_zero_with_finite_gradient():
    q = tf.zeros([1, 4, 1])
    with tf.GradientTape() as tape:
        tape.watch(q)
        unit = quaternion.normalize(q)
    assert not np.any(unit)
    assert np.all(np.isfinite(tape.gradient(unit, q)))
