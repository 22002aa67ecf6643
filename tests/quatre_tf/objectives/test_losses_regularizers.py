import math

import numpy as np
import tensorflow as tf

from quatre_tf.objectives import losses, regularizers


def test_logistic_loss_by_hand():
    loss = losses.logistic_loss(tf.constant([2.0, -1.0, 0.0]), tf.constant([1, -1, 1]))
    expected = [math.log1p(math.exp(-2)), math.log1p(math.exp(-1)), math.log(2)]
    np.testing.assert_allclose(loss, expected, rtol=1e-6)


def test_logistic_loss_does_not_overflow():
    loss = losses.logistic_loss(tf.constant([-1e4, 1e4]), tf.constant([1.0, 1.0]))
    np.testing.assert_allclose(loss, [1e4, 0.0])


def test_batch_l2_by_hand():
    rows = tf.constant([[1.0, 2.0, 0.0, 0.0], [0.0, 0.0, 2.0, 1.0]])
    assert float(regularizers.batch_l2([rows, 2 * rows])) == 4 * 10 / 8 + 4 * 40 / 8


def test_n3_by_hand():
    quaternions = tf.constant([[[3.0], [4.0], [0.0], [0.0]], [[0.0], [0.0], [1.0], [0.0]]])
    assert float(regularizers.n3([quaternions, quaternions])) == 125 + 1


def test_dura_by_hand():
    quaternions = tf.constant([[[3.0], [4.0], [0.0], [0.0]], [[0.0], [0.0], [1.0], [0.0]]])
    assert float(regularizers.dura([quaternions, 2 * quaternions])) == (25 + 1) / 2 * (1 + 4)
