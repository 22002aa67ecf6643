"""Batch normalization and dropout as pure functions, for score functions with layers."""

from collections.abc import Mapping

import tensorflow as tf

# Of the moving statistics, and added to variances: PyTorch's defaults, as the public ConvEs use.
_MOMENTUM = 0.9
_EPSILON = 1e-5


class BatchNormalizer:
    """Normalizes each channel, the last axis, by weights that are given by name.

    Layer `x` has `x_weight`, `x_bias`, `x_running_mean` and `x_running_var`, all `[channels]`. In
    training the moments are of the batch, over all replicas of the distribution strategy.

    Args:
        weights: By name.
        is_training: Whether the moments are those of the batch.

    Attributes:
        statistics: In training, the new moving moments of the layers that were called.
    """

    def __init__(self, weights: Mapping[str, tf.Tensor], is_training: bool):
        self._weights, self._is_training = weights, is_training
        self.statistics: dict[str, tf.Tensor] = {}

    def __call__(self, name: str, values: tf.Tensor) -> tf.Tensor:
        """Returns the normalized values `[..., channels]` of layer `name`."""
        moving = [self._weights[f"{name}_running_{moment}"] for moment in ("mean", "var")]
        mean, variance = moving
        if self._is_training:
            mean, variance = _moments(values)
            for moment, old, new in zip(("mean", "var"), moving, (mean, variance), strict=True):
                moved = _MOMENTUM * old + (1.0 - _MOMENTUM) * new
                self.statistics[f"{name}_running_{moment}"] = moved
        return tf.nn.batch_normalization(
            values,
            mean,
            variance,
            self._weights[f"{name}_bias"],
            self._weights[f"{name}_weight"],
            _EPSILON,
        )


def _moments(values: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns mean and variance `[channels]` over all replicas."""
    rows = tf.reshape(values, [-1, values.shape[-1]])
    count = tf.cast(tf.shape(rows)[:1], rows.dtype)
    sums = _over_replicas(tf.concat([count, tf.reduce_sum(rows, axis=0)], axis=0))
    mean = sums[1:] / sums[0]
    # The mean of squares minus the square of the mean cancels where the mean is large.
    return mean, _over_replicas(tf.reduce_sum((rows - mean) ** 2, axis=0)) / sums[0]


def _over_replicas(sums: tf.Tensor) -> tf.Tensor:
    context = tf.distribute.get_replica_context()
    if context and context.num_replicas_in_sync > 1:
        return context.all_reduce(tf.distribute.ReduceOp.SUM, sums)
    return sums


def dropout(
    values: tf.Tensor,
    rate: float,
    seed: tf.Tensor | None,
    place: int,
    whole_channels: bool = False,
) -> tf.Tensor:
    """Returns values with a share of them set to zero, and the others raised to the same mean.

    Args:
        values: `[batch, ...]`.
        rate: The share.
        seed: `[2]`, of the step; None drops nothing.
        place: A number of its own for each dropout of a step.
        whole_channels: Whether images `[batch, height, width, channels]` lose whole channels.
    """
    if seed is None or not rate:
        return values
    shape = tf.shape(values)
    if whole_channels:
        shape = tf.stack([shape[0], 1, 1, shape[-1]])
    seed = tf.random.experimental.stateless_fold_in(seed, place)
    kept = tf.random.stateless_uniform(shape, seed) >= rate
    return values * (tf.cast(kept, values.dtype) / (1.0 - rate))
