"""Losses on scores (higher is more plausible)."""

from typing import Any

import keras
import tensorflow as tf


def logistic_loss(scores: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """Returns the per-example loss `softplus(-label * score)` (QuatRE paper, equation 9).

    Args:
        scores: `[...]`.
        labels: `[...]`, +1 for true and -1 for corrupted triples.

    Returns:
        `[...]`, in nats. The paper sums it, the reference implementation takes the mean.
    """
    return tf.math.softplus(-tf.cast(labels, scores.dtype) * scores)


@keras.saving.register_keras_serializable("quatre_tf")
class LogisticLoss(keras.losses.Loss):
    """Logistic loss as a Keras loss; labels are +1 for true and -1 for corrupted triples.

    A loss for each score, as sample weights need it. `keras.losses.BinaryCrossentropy` takes the
    mean over the last axis first, which for scores `[batch]` is the batch.

    Example:
        >>> loss = LogisticLoss()
        >>> float(loss(tf.constant([1.0, -1.0]), tf.constant([0.0, 0.0])))  # log(2)
        0.6931471824645996
    """

    def __init__(self, name: str = "logistic_loss", **kwargs: Any):
        super().__init__(name=name, **kwargs)

    def call(self, y_true: tf.Tensor, y_pred: tf.Tensor) -> tf.Tensor:
        """Returns the losses `[batch]` of scores `y_pred`; labels are `[batch]` or `[batch, 1]`."""
        if len(y_true.shape) == len(y_pred.shape) + 1:
            y_true = tf.squeeze(y_true, axis=-1)
        return logistic_loss(y_pred, y_true)
