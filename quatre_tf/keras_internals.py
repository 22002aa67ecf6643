"""The private parts of Keras that the library uses, behind public names.

tests/quatre_tf/test_keras_internals.py says what to do when a new Keras changes them.
"""

from typing import Any, TypeAlias

import tensorflow as tf

Gradient: TypeAlias = "tf.Tensor | tf.IndexedSlices"


class SummedGradientsAdagrad(tf.keras.optimizers.Adagrad):
    """`keras.optimizers.Adagrad` with a hook between the sum over replicas and the update.

    Keras's own hooks come before the sum, with each replica's gradients, or after it, with one
    gradient at a time. A global norm needs all gradients, summed.
    """

    def transform_summed(self, gradients: list[Gradient]) -> list[Gradient]:
        """Returns the gradients to apply, of all variables, for their sums over the replicas."""
        raise NotImplementedError

    def accumulator(self, variable: Any) -> tf.Variable:
        """Returns the sums of squares of a variable's gradients; it has the variable's shape."""
        return self._accumulators[self._get_variable_index(variable)].value

    def built_variable(self, variable: Any) -> Any:
        """Returns the variable that `build` was given, of which this one may be a replica."""
        return self._trainable_variables[self._get_variable_index(variable)]

    def _clip_gradients(self, grads: list[Gradient]) -> list[Gradient]:
        # Keras would clip each replica's gradients to the global norm before their sum.
        return grads if self.global_clipnorm else super()._clip_gradients(grads)

    def _all_reduce_sum_gradients(self, grads_and_vars: Any) -> list[tuple[Gradient, Any]]:
        # TensorFlow remembers each trace of its all-reduce until the process ends.
        if tf.distribute.get_strategy().num_replicas_in_sync > 1:
            grads_and_vars = super()._all_reduce_sum_gradients(grads_and_vars)
        summed, variables = zip(*grads_and_vars, strict=True)
        return list(zip(self.transform_summed(list(summed)), variables, strict=True))
