"""The private parts of Keras that the library uses, behind public names.

If a new Keras changes them, see tests/quatre_tf/test_keras_internals.py.
"""

from collections.abc import MutableMapping
from typing import Any, TypeAlias

import tensorflow as tf

# What a layer reads its weights from, and writes them to.
Store: TypeAlias = MutableMapping[str, Any]
Gradient: TypeAlias = "tf.Tensor | tf.IndexedSlices"
# What Adagrad (the first) and Adam remember of variables, and where they keep it.
_SLOTS = {"accumulator": "_accumulators", "momentum": "_momentums", "velocity": "_velocities"}


def unread(store: Store, name: str) -> Any:
    """Returns the rows of a weight, which a slice then reads.

    `store[name]` reads them all.
    """
    return getattr(store, "_h5_entry_group", store)[name]


def unwritten(store: Store, name: str, shape: tuple[int, ...], dtype: str) -> Any:
    """Returns the rows of a new weight, to which slices are then assigned.

    `store[name] = rows` needs them all.
    """
    entry: Any = store
    if not entry._h5_entry_group:
        entry._create_h5_group(entry._h5_entry_path)
    return entry._h5_entry_group.create_dataset(name, shape, dtype)


class SummedGradients(tf.keras.optimizers.Optimizer):
    """A Keras optimizer with a hook between the sum over replicas and the update.

    Keras's own hooks come before the sum, with each replica's gradients, or after it, with one
    gradient at a time. A global norm needs all gradients, summed.
    """

    def transform_summed(self, gradients: list[Gradient]) -> list[Gradient]:
        """Returns the gradients to apply, of all variables, for their sums over the replicas."""
        raise NotImplementedError

    def slots(self, variable: Any) -> dict[str, tf.Variable]:
        """Returns what the optimizer remembers of a variable, by name, in the variable's shape."""
        index = self._get_variable_index(variable)
        return {
            name: getattr(self, slots)[index].value
            for name, slots in _SLOTS.items()
            if hasattr(self, slots)
        }

    def built_variable(self, variable: Any) -> Any:
        """Returns the variable that `build` was given, of which this one may be a replica."""
        return self._trainable_variables[self._get_variable_index(variable)]

    def clip_each(self, gradients: list[Gradient]) -> list[Gradient]:
        """Returns the gradients, each clipped to `clipnorm` or `clipvalue` if that is set."""
        return gradients if self.global_clipnorm else super()._clip_gradients(gradients)

    def _clip_gradients(self, grads: list[Gradient]) -> list[Gradient]:
        # Keras would clip each replica's gradients before their sum: that is left to the hook.
        return grads

    def _all_reduce_sum_gradients(self, grads_and_vars: Any) -> list[tuple[Gradient, Any]]:
        # TensorFlow remembers each trace of its all-reduce until the process ends.
        if tf.distribute.get_strategy().num_replicas_in_sync > 1:
            grads_and_vars = super()._all_reduce_sum_gradients(grads_and_vars)
        summed, variables = zip(*grads_and_vars, strict=True)
        return list(zip(self.transform_summed(list(summed)), variables, strict=True))
