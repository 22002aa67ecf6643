"""What every Keras layer of the library has to stand."""

import keras
import numpy as np
import tensorflow as tf


def run_layer_test(make, ids, expected_shape, expected_weights):
    """Builds a layer, calls it, round-trips its config, takes a gradient, and mixes precision."""
    layer = make()
    output = layer(ids)
    assert output.shape == expected_shape
    assert layer.compute_output_shape(tuple(ids.shape)) == expected_shape
    assert len(layer.trainable_weights) == expected_weights

    copy = type(layer).from_config(layer.get_config())
    copy(ids)
    assert copy.get_config() == layer.get_config()
    copy.set_weights(layer.get_weights())
    np.testing.assert_array_equal(copy(ids), output)

    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.square(layer(ids)[..., :1]))
    gradients = tape.gradient(loss, [weight.value for weight in layer.trainable_weights])
    assert all(gradient is not None for gradient in gradients)

    mixed = make(dtype=keras.DTypePolicy("mixed_bfloat16"))
    assert mixed(ids).dtype == tf.bfloat16
    assert all(weight.dtype == "float32" for weight in mixed.weights)
    return layer
