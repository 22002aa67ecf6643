"""The private parts of TensorFlow's lookup tables that SavedModels need.

If a new TensorFlow changes them, see tests/saved_models/test_table_internals.py.
"""

import uuid
from typing import Any

import tensorflow as tf


class AnonymousTable(tf.lookup.StaticHashTable):
    """A table that is freed with its last reference, here and in a program that loads it.

    TensorFlow keeps a table with a name until the process ends. Only the graph that session
    loaders read, such as TensorFlow Serving, needs a name. By default TensorFlow makes it from the
    path of the file, so every SavedModel would publish a path of the machine that exported it.
    """

    def __init__(self, initializer: tf.lookup.TextFileInitializer, default_value: Any):
        super().__init__(initializer, default_value, experimental_is_anonymous=True)
        self._shared_name = f"names_{uuid.uuid4()}"

    def _export_to_saved_model_graph(self, *arguments: Any, **options: Any) -> list[Any]:
        self._is_anonymous = False
        try:
            return super()._export_to_saved_model_graph(*arguments, **options)
        finally:
            self._is_anonymous = True
