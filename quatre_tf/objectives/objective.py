"""The result of a training objective."""

from typing import NamedTuple

import tensorflow as tf


class Objective(NamedTuple):
    """Value and gradient of an objective on one batch; not for a `tf.GradientTape`.

    Attributes:
        loss: Scalar, the mean loss of the batch in nats.
        regularization: Scalar, the weighted regulariser.
        gradients: One for each of `model.trainable_variables`; `tf.IndexedSlices` have unique
            indices.
    """

    loss: tf.Tensor
    regularization: tf.Tensor
    gradients: list[tf.Tensor | tf.IndexedSlices]
