import math

import numpy as np
import pytest
import tensorflow as tf

from quatre_tf.objectives import losses


def test_logistic_loss_by_hand():
    loss = losses.logistic_loss(tf.constant([2.0, -1.0, 0.0]), tf.constant([1, -1, 1]))
    expected = [math.log1p(math.exp(-2)), math.log1p(math.exp(-1)), math.log(2)]
    np.testing.assert_allclose(loss, expected, rtol=1e-6)


def test_labels_may_be_a_column():
    loss = losses.LogisticLoss()
    scores, labels = tf.constant([2.0, -1.0, 0.0]), tf.constant([1, -1, 1])
    assert loss(labels[:, tf.newaxis], scores) == loss(labels, scores)
    with pytest.raises(tf.errors.InvalidArgumentError):
        loss(tf.ones([2, 3]), tf.ones([3, 2]))


def test_logistic_loss_does_not_overflow():
    loss = losses.logistic_loss(tf.constant([-1e4, 1e4]), tf.constant([1.0, 1.0]))
    np.testing.assert_allclose(loss, [1e4, 0.0])
