"""The private names of Keras behind quatre_tf/keras_internals.py still mean what they did.

When a test here fails after an upgrade, Keras changed; the library is not wrong. Read
`keras/src/optimizers/base_optimizer.py`, `keras/src/backend/tensorflow/optimizer.py` and
`keras/src/saving/saving_lib.py` of the new release, find the new name, and change
quatre_tf/keras_internals.py only. If there is none, keep `keras` in setup.py below that release.
tests/quatre_tf/test_optimizers.py must pass either way.
"""

import h5py
import keras
import numpy as np
import pytest
import tensorflow as tf

from quatre_tf.keras_internals import SummedGradients, unread

REMEDY = "Keras changed a private method: see the docstring of this file."


def test_a_stored_weight_is_not_read_before_it_is_sliced(tmp_path):
    read = []

    class Reading(keras.layers.Layer):
        def build(self, input_shape):
            self.add_weight(name="weight", shape=[3])

        def load_own_variables(self, store):
            read.append(unread(store, "0"))
            np.testing.assert_array_equal(read[0][1:], [1.0, 2.0])

    layer = Reading()
    model = keras.Sequential([keras.Input([3]), layer])
    layer.weights[0].assign([0.0, 1.0, 2.0])
    model.save_weights(tmp_path / "model.weights.h5")
    model.load_weights(tmp_path / "model.weights.h5")
    assert isinstance(read[0], h5py.Dataset), REMEDY


class Recording(SummedGradients, keras.optimizers.Adagrad):
    """Notes what the hook gets, and halves it."""

    def __init__(self, **options):
        super().__init__(1.0, initial_accumulator_value=0.0, epsilon=0.0, **options)
        self.seen = []

    def transform_summed(self, gradients):
        clipped = self.clip_each(gradients)
        self.seen.append([gradient.numpy().tolist() for gradient in clipped])
        return [gradient / 2 for gradient in clipped]


@pytest.mark.parametrize(
    ("options", "seen"),
    [({}, [3.0, 4.0]), ({"global_clipnorm": 1.0}, [3.0, 4.0]), ({"clipvalue": 3.5}, [3.0, 3.5])],
    ids=["no clipping", "global norm is left to the hook", "values are clipped by it"],
)
def test_apply_gives_all_gradients_to_the_hook_once_and_updates_with_its_result(options, seen):
    optimizer = Recording(**options)
    variables = [keras.Variable([0.0]), keras.Variable([0.0])]
    optimizer.apply([tf.constant([3.0]), tf.constant([4.0])], variables)
    assert optimizer.seen == [[[value] for value in seen]], REMEDY
    sums = [optimizer.slots(variable)["accumulator"].numpy().tolist() for variable in variables]
    assert sums == [[(value / 2) ** 2] for value in seen], REMEDY
