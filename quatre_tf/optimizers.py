"""Optimizers for tables with sparse gradients."""

from typing import Any

import keras
import tensorflow as tf

from quatre_tf import poincare
from quatre_tf.accelerated import kernel
from quatre_tf.keras_internals import Gradient, SummedGradients
from quatre_tf.sparse_rows import sum_duplicates

# Points near the edge of a ball keep their distance from it.
_EXACT = tf.float64


class SparseOptimizer(SummedGradients):
    """What the optimizers below share: the cost of a step is that of the rows with a gradient.

    In `tf.IndexedSlices`, duplicate rows are added before anything else (the gradient of a row is
    the sum of its parts, as if the gradient were dense), and only the rows given are read and
    written. Stock Keras optimizers treat duplicates one by one, or pass over the whole table.

    Points of a Poincare ball (`quatre_tf.poincare.keep_in_ball`) move along geodesics: the gradient
    g of a point p counts as `g (1 - |p|^2) / 2`, its square as the squared norm of that in every
    column, and the exponential map takes the step. Means of gradients are not transported.

    Gradients are summed over the replicas of the distribution strategy first. Only then are they
    clipped, so that the result does not depend on the number of replicas.

    Attributes:
        gradient_norm: Scalar variable, the global norm of the last gradients before clipping.

    References:
        - Becigneul and Ganea, Riemannian Adaptive Optimization Methods, ICLR 2019
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.gradient_norm = self.add_variable(
            shape=(), name="gradient_norm", aggregation="only_first_replica"
        )

    def update_step(self, gradient: Gradient, variable: Any, learning_rate: Any) -> None:
        """Updates one variable in place, all of it or the rows of `tf.IndexedSlices`."""
        if isinstance(variable, keras.Variable):
            variable = variable.value
        columns = poincare.ball_columns(self.built_variable(variable))
        if columns:
            self._move_points(gradient, variable, learning_rate, columns)
            return
        learning_rate = tf.cast(learning_rate, variable.dtype)
        if isinstance(gradient, tf.IndexedSlices):
            rows = tf.cast(gradient.values, variable.dtype)
            self.update_rows(variable, gradient.indices, rows, learning_rate)
        else:
            self.update_all(variable, tf.cast(gradient, variable.dtype), learning_rate)

    def update_rows(
        self, variable: tf.Variable, ids: tf.Tensor, gradient: tf.Tensor, learning_rate: tf.Tensor
    ) -> None:
        """Updates the distinct rows `ids` `[k]` for their gradient `[k, width]`."""
        steps = self.steps(variable, ids, (gradient, tf.square(gradient)), learning_rate)
        tf.raw_ops.ResourceScatterSub(resource=variable.handle, indices=ids, updates=steps)

    def steps(
        self,
        variable: tf.Variable,
        ids: tf.Tensor,
        gradients: tuple[tf.Tensor, tf.Tensor],
        learning_rate: tf.Tensor,
    ) -> tf.Tensor:
        """Updates the slots of rows, and returns the steps `[k, width]` to subtract from them.

        Args:
            variable: The variable.
            ids: `[k]`, distinct.
            gradients: The gradient of the rows, and its square, both `[k, width]`.
            learning_rate: Scalar.
        """
        raise NotImplementedError

    def update_all(
        self, variable: tf.Variable, gradient: tf.Tensor, learning_rate: tf.Tensor
    ) -> None:
        """Updates the variable for a gradient of its shape."""
        raise NotImplementedError

    def _move_points(
        self, gradient: Gradient, variable: tf.Variable, learning_rate: Any, columns: int
    ) -> None:
        """Updates rows that begin with a point of the ball, in float64."""
        if not isinstance(gradient, tf.IndexedSlices):
            gradient = tf.IndexedSlices(gradient, tf.range(tf.shape(gradient)[0]))
        sizes = [columns, variable.shape[1] - columns]
        rows = _gather(variable, gradient.indices, _EXACT)
        points, others = tf.split(rows, sizes, axis=1)
        of_points, of_others = tf.split(tf.cast(gradient.values, _EXACT), sizes, axis=1)
        points = poincare.project(points)
        scale = poincare.conformal_scale(points)
        of_points *= scale
        squares = tf.reduce_sum(tf.square(of_points), axis=1, keepdims=True)
        gradients = (
            tf.concat([of_points, of_others], axis=1),
            tf.concat([tf.repeat(squares, columns, axis=1), tf.square(of_others)], axis=1),
        )
        learning_rate = tf.cast(learning_rate, _EXACT)
        steps = self.steps(variable, gradient.indices, gradients, learning_rate)
        of_points, of_others = tf.split(steps, sizes, axis=1)
        moved = poincare.move(points, -scale * of_points)
        _put(variable, gradient.indices, tf.concat([moved, others - of_others], axis=1))

    def transform_summed(self, gradients: list[Gradient]) -> list[Gradient]:
        """Adds duplicate rows, records the global norm and clips."""
        gradients = [sum_duplicates(g) if isinstance(g, tf.IndexedSlices) else g for g in gradients]
        norm = tf.linalg.global_norm(gradients)
        self.gradient_norm.assign(norm)
        if self.global_clipnorm:
            gradients = _scale_if_above(gradients, norm, self.global_clipnorm)
        return self.clip_each(gradients)


@keras.saving.register_keras_serializable("quatre_tf")
class SparseAdagrad(SparseOptimizer, keras.optimizers.Adagrad):
    """Adagrad for sparse gradients (`SparseOptimizer`).

    `accumulator += g^2; variable -= learning_rate * g / (sqrt(accumulator) + epsilon)`

    Rows without a gradient do not move under Adagrad, so the sparse update equals the dense one.
    `epsilon` is added outside the root (PyTorch's form).

    Args:
        learning_rate: Step size, a float or a schedule.
        initial_accumulator_value: Start of the sums of squares. 0 is the reference's; Keras's 0.1
            would make mean-loss gradients of 1e-6 stand still.
        epsilon: Added to the root of the accumulator.
        global_clipnorm: Bound on the norm over all gradients, or None.

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

    def update_rows(
        self, variable: tf.Variable, ids: tf.Tensor, gradient: tf.Tensor, learning_rate: tf.Tensor
    ) -> None:
        """Updates rows by the compiled operation, or by TensorFlow's where it is not used."""
        operations = kernel.operations() if variable.dtype == tf.float32 else None
        update = (
            operations.quatre_adagrad if operations else tf.raw_ops.ResourceSparseApplyAdagradV2
        )
        update(
            **self._arguments(variable),
            lr=learning_rate,
            grad=gradient,
            indices=tf.cast(ids, tf.int32),
        )

    def steps(
        self,
        variable: tf.Variable,
        ids: tf.Tensor,
        gradients: tuple[tf.Tensor, tf.Tensor],
        learning_rate: tf.Tensor,
    ) -> tf.Tensor:
        """Adds the squares; the kernel does so by itself."""
        gradient, squares = gradients
        accumulator = self.slots(variable)["accumulator"]
        sums = _gather(accumulator, ids, gradient.dtype) + squares
        _put(accumulator, ids, sums)
        return learning_rate * gradient / (tf.sqrt(sums) + self.epsilon)

    def update_all(
        self, variable: tf.Variable, gradient: tf.Tensor, learning_rate: tf.Tensor
    ) -> None:
        """Updates the variable by TensorFlow's fused kernel."""
        tf.raw_ops.ResourceApplyAdagradV2(
            **self._arguments(variable), lr=learning_rate, grad=gradient
        )

    def _arguments(self, variable: tf.Variable) -> dict[str, tf.Tensor]:
        return {
            "var": variable.handle,
            "accum": self.slots(variable)["accumulator"].handle,
            "epsilon": tf.constant(self.epsilon, variable.dtype),
        }


@keras.saving.register_keras_serializable("quatre_tf")
class SparseAdam(SparseOptimizer, keras.optimizers.Adam):
    """Adam for sparse gradients (`SparseOptimizer`), in the lazy form.

    `m += (1 - beta_1) (g - m); v += (1 - beta_2) (g^2 - v);`
    `variable -= learning_rate * sqrt(1 - beta_2^t) / (1 - beta_1^t) * m / (sqrt(v) + epsilon)`

    These are the formulas of `keras.optimizers.Adam`; t counts the steps. For a sparse gradient
    they are applied to its rows only: the moments of the other rows do not decay, and the rows do
    not move. Stock Adam passes over the whole table at each step.

    Args:
        learning_rate: Step size, a float or a schedule.
        beta_1: Decay of the mean gradient m.
        beta_2: Decay of the mean squared gradient v.
        epsilon: Added to the root of v. 1e-8 is the paper's; Keras's 1e-7 is large for the
            gradients of mean losses.
        global_clipnorm: Bound on the norm over all gradients, or None.

    References:
        - Kingma and Ba, Adam: A Method for Stochastic Optimization, ICLR 2015
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-8,
        global_clipnorm: float | None = None,
        name: str = "sparse_adam",
        **kwargs: Any,
    ):
        super().__init__(
            learning_rate=learning_rate,
            beta_1=beta_1,
            beta_2=beta_2,
            epsilon=epsilon,
            global_clipnorm=global_clipnorm,
            name=name,
            **kwargs,
        )
        if self.amsgrad:
            raise ValueError("SparseAdam has no AMSGrad. Expected amsgrad=False. Received: True.")

    def steps(
        self,
        variable: tf.Variable,
        ids: tf.Tensor,
        gradients: tuple[tf.Tensor, tf.Tensor],
        learning_rate: tf.Tensor,
    ) -> tf.Tensor:
        """Updates the moments of rows."""
        moments = []
        decays = (self.beta_1, self.beta_2)
        for slot, decay, new in zip(self.slots(variable).values(), decays, gradients, strict=True):
            old = _gather(slot, ids, new.dtype)
            moments.append(old + (1.0 - decay) * (new - old))
            _put(slot, ids, moments[-1])
        powers = self._powers(learning_rate.dtype)
        learning_rate *= tf.sqrt(1.0 - powers["beta2_power"]) / (1.0 - powers["beta1_power"])
        return learning_rate * moments[0] / (tf.sqrt(moments[1]) + self.epsilon)

    def update_all(
        self, variable: tf.Variable, gradient: tf.Tensor, learning_rate: tf.Tensor
    ) -> None:
        """Updates the variable and its moments by TensorFlow's fused kernel."""
        m, v = self.slots(variable).values()
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=m.handle,
            v=v.handle,
            **self._powers(gradient.dtype),
            lr=learning_rate,
            beta1=tf.constant(self.beta_1, gradient.dtype),
            beta2=tf.constant(self.beta_2, gradient.dtype),
            epsilon=tf.constant(self.epsilon, gradient.dtype),
            grad=gradient,
        )

    def _powers(self, dtype: tf.DType) -> dict[str, tf.Tensor]:
        # A tensor, where gradients are accumulated.
        step = tf.cast(self.iterations, dtype) + 1
        return {"beta1_power": self.beta_1**step, "beta2_power": self.beta_2**step}


def _gather(variable: tf.Variable, ids: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    rows = tf.raw_ops.ResourceGather(resource=variable.handle, indices=ids, dtype=variable.dtype)
    return tf.cast(rows, dtype)


def _put(variable: tf.Variable, ids: tf.Tensor, rows: tf.Tensor) -> None:
    tf.raw_ops.ResourceScatterUpdate(
        resource=variable.handle, indices=ids, updates=tf.cast(rows, variable.dtype)
    )


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
