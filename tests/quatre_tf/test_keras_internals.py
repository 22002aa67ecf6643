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

from quatre_tf.keras_internals import SummedGradientsAdagrad, SummedGradientsAdam, unread

REMEDY = "Keras changed a private method: see the docstring of this file."


@pytest.mark.parametrize(
    ("optimizer", "names"),
    [
        (SummedGradientsAdagrad, ["accumulator"]),
        (SummedGradientsAdam, ["momentum", "velocity"]),
    ],
)
def test_keras_has_the_slots_of_each_variable(optimizer, names):
    optimizer = optimizer()
    variables = [keras.Variable(np.zeros(shape, np.float32)) for shape in ([2, 3], [4])]
    optimizer.build(variables)
    for variable in variables:
        # Keras hands `update_step` the variable of TensorFlow.
        for given in (variable, variable.value):
            assert optimizer.built_variable(given) is variable, REMEDY
            slots = optimizer.slots(given)
            assert list(slots) == names, REMEDY
            for slot in slots.values():
                assert slot.shape == variable.shape, REMEDY


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


class Recording(SummedGradientsAdagrad):
    """Notes what the hook gets, and halves it."""

    def __init__(self, **options):
        super().__init__(1.0, initial_accumulator_value=0.0, epsilon=0.0, **options)
        self.seen = []

    def transform_summed(self, gradients):
        self.seen.append([gradient.numpy().tolist() for gradient in gradients])
        return [gradient / 2 for gradient in gradients]


@pytest.mark.parametrize(
    ("options", "seen"),
    [({}, [3.0, 4.0]), ({"global_clipnorm": 1.0}, [3.0, 4.0]), ({"clipvalue": 3.5}, [3.0, 3.5])],
    ids=["no clipping", "global norm is left to the hook", "values are clipped before"],
)
def test_apply_gives_all_gradients_to_the_hook_once_and_updates_with_its_result(options, seen):
    optimizer = Recording(**options)
    variables = [keras.Variable([0.0]), keras.Variable([0.0])]
    optimizer.apply([tf.constant([3.0]), tf.constant([4.0])], variables)
    assert optimizer.seen == [[[value] for value in seen]], REMEDY
    sums = [optimizer.slots(variable)["accumulator"].numpy().tolist() for variable in variables]
    assert sums == [[(value / 2) ** 2] for value in seen], REMEDY


@pytest.mark.parametrize("strategy", ["mirrored"], indirect=True)
def test_the_hook_comes_after_the_sum_over_replicas(strategy):
    with strategy.scope():
        variable = keras.Variable([0.0])
        optimizer = Adding()
        optimizer.build([variable])
    tf.function(lambda: strategy.run(lambda: optimizer.apply([tf.constant([3.0])], [variable])))()
    # The sum over the replicas first, then 1 once.
    expected = (3.0 * strategy.num_replicas_in_sync + 1.0) ** 2
    assert optimizer.slots(variable)["accumulator"].numpy().tolist() == [expected], REMEDY


class Adding(SummedGradientsAdagrad):
    """Adds 1 to each sum."""

    def __init__(self):
        super().__init__(1.0, initial_accumulator_value=0.0, epsilon=0.0)

    def transform_summed(self, gradients):
        return [gradient + 1.0 for gradient in gradients]
