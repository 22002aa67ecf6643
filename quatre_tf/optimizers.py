"""Adagrad for tables of which each step touches a few rows."""

from typing import Any

import keras
import tensorflow as tf

from quatre_tf.keras_internals import Gradient, SummedGradientsAdagrad
from quatre_tf.sparse_rows import sum_duplicates


@keras.saving.register_keras_serializable("quatre_tf")
class SparseAdagrad(SummedGradientsAdagrad):
    """Adagrad whose cost is that of the rows with a gradient.

    `accumulator += g^2; variable -= learning_rate * g / (sqrt(accumulator) + epsilon)`

    It differs from `keras.optimizers.Adagrad` in what it does with `tf.IndexedSlices`: duplicate
    rows are added before they are squared (the gradient of a row is the sum of its parts, as if the
    gradient were dense), and only the rows given are read and written. Rows without a gradient do
    not move under Adagrad, so the sparse update equals the dense one. `epsilon` is added outside
    the root (PyTorch's form).

    Gradients are summed over the replicas of the distribution strategy first; `global_clipnorm`
    then clips the norm of that sum, so that the result does not depend on the number of replicas.

    Args:
        learning_rate: Step size, a float or a schedule.
        initial_accumulator_value: Start of the sums of squares. 0 is the reference's; Keras's 0.1
            would make mean-loss gradients of 1e-6 stand still.
        epsilon: Added to the root of the accumulator.
        global_clipnorm: Bound on the norm over all gradients, or None.

    Attributes:
        gradient_norm: Scalar variable, the global norm of the last gradients before clipping.

    References:
        - Duchi et al., Adaptive Subgradient Methods, JMLR 2011
    """

    def __init__(
        self,
        learning_rate: Any = 0.1,
        initial_accumulator_value: float = 0.0,
        epsilon: float = 1e-10,
        global_clipnorm: float | None = None,
        name: str = "sparse_adagrad",
        **kwargs: Any,
    ):
        super().__init__(
            learning_rate=learning_rate,
            initial_accumulator_value=initial_accumulator_value,
            epsilon=epsilon,
            global_clipnorm=global_clipnorm,
            name=name,
            **kwargs,
        )
        self.gradient_norm = self.add_variable(
            shape=(), name="gradient_norm", aggregation="only_first_replica"
        )

    def update_step(self, gradient: Gradient, variable: Any, learning_rate: Any) -> None:
        """Updates one variable in place with the fused kernel, sparse or dense."""
        if isinstance(variable, keras.Variable):
            variable = variable.value
        arguments = {
            "var": variable.handle,
            "accum": self.accumulator(variable).handle,
            "lr": tf.cast(learning_rate, variable.dtype),
            "epsilon": tf.constant(self.epsilon, variable.dtype),
        }
        if isinstance(gradient, tf.IndexedSlices):
            values = tf.cast(gradient.values, variable.dtype)
            tf.raw_ops.ResourceSparseApplyAdagradV2(
                **arguments, grad=values, indices=gradient.indices
            )
        else:
            tf.raw_ops.ResourceApplyAdagradV2(**arguments, grad=tf.cast(gradient, variable.dtype))

    def transform_summed(self, gradients: list[Gradient]) -> list[Gradient]:
        """Adds duplicate rows, records the global norm and clips it."""
        gradients = [sum_duplicates(g) if isinstance(g, tf.IndexedSlices) else g for g in gradients]
        norm = tf.linalg.global_norm(gradients)
        self.gradient_norm.assign(norm)
        if self.global_clipnorm:
            gradients = _scale_if_above(gradients, norm, self.global_clipnorm)
        return gradients


def _scale_if_above(gradients: list[Gradient], norm: tf.Tensor, bound: float) -> list[Gradient]:
    """Scales the gradients to the bound; below it they pass through without a copy."""
    values = [g.values if isinstance(g, tf.IndexedSlices) else g for g in gradients]
    scaled = tf.cond(
        norm > bound, lambda: [value * (bound / norm) for value in values], lambda: values
    )
    return [
        tf.IndexedSlices(value, g.indices, g.dense_shape)
        if isinstance(g, tf.IndexedSlices)
        else value
        for value, g in zip(scaled, gradients, strict=True)
    ]
