"""Adagrad for tables of which each step touches a few rows."""

from typing import Any

import keras
import tensorflow as tf

from quatre_tf import poincare
from quatre_tf.keras_internals import Gradient, SummedGradientsAdagrad
from quatre_tf.sparse_rows import sum_duplicates

# Points near the edge of a ball keep their distance from it.
_EXACT = tf.float64


@keras.saving.register_keras_serializable("quatre_tf")
class SparseAdagrad(SummedGradientsAdagrad):
    """Adagrad whose cost is that of the rows with a gradient.

    `accumulator += g^2; variable -= learning_rate * g / (sqrt(accumulator) + epsilon)`

    It differs from `keras.optimizers.Adagrad` in what it does with `tf.IndexedSlices`: duplicate
    rows are added before they are squared (the gradient of a row is the sum of its parts, as if the
    gradient were dense), and only the rows given are read and written. Rows without a gradient do
    not move under Adagrad, so the sparse update equals the dense one. `epsilon` is added outside
    the root (PyTorch's form).

    Points of a Poincare ball (`quatre_tf.poincare.keep_in_ball`) move along geodesics, by
    Riemannian Adagrad: `g (1 - |p|^2)^2 / 4` is the gradient, the accumulator sums its squared
    hyperbolic norms, and the exponential map takes the step. Every column of a point holds the same
    sum.

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
        - Becigneul and Ganea, Riemannian Adaptive Optimization Methods, ICLR 2019
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
        """Updates one variable in place, sparse or dense; by the fused kernel but in a ball."""
        if isinstance(variable, keras.Variable):
            variable = variable.value
        columns = poincare.ball_columns(self.built_variable(variable))
        if columns:
            self._move_points(gradient, variable, learning_rate, columns)
            return
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

    def _move_points(
        self, gradient: Gradient, variable: tf.Variable, learning_rate: Any, columns: int
    ) -> None:
        """Updates rows that begin with a point of the ball, in float64."""
        if not isinstance(gradient, tf.IndexedSlices):
            gradient = tf.IndexedSlices(gradient, tf.range(tf.shape(gradient)[0]))
        accumulator, ids = self.accumulator(variable), gradient.indices
        rows, sums = (
            tf.cast(
                tf.raw_ops.ResourceGather(resource=v.handle, indices=ids, dtype=v.dtype), _EXACT
            )
            for v in (variable, accumulator)
        )
        sizes = [columns, variable.shape[1] - columns]
        points, others = tf.split(rows, sizes, axis=1)
        of_points, of_others = tf.split(tf.cast(gradient.values, _EXACT), sizes, axis=1)
        points = poincare.project(points)
        scale = poincare.conformal_scale(points)
        squares = tf.reduce_sum(tf.square(scale * of_points), axis=1, keepdims=True)
        sums += tf.concat([tf.repeat(squares, columns, axis=1), tf.square(of_others)], axis=1)
        rates = tf.cast(learning_rate, _EXACT) / (tf.sqrt(sums) + self.epsilon)
        tangents = -rates[:, :columns] * tf.square(scale) * of_points
        moved = poincare.move(points, tangents)
        rows = tf.concat([moved, others - rates[:, columns:] * of_others], axis=1)
        for target, updates in ((variable, rows), (accumulator, sums)):
            tf.raw_ops.ResourceScatterUpdate(
                resource=target.handle, indices=ids, updates=tf.cast(updates, target.dtype)
            )

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
