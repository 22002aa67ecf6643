"""Tables of embeddings."""

import contextlib
import contextvars
import functools
from collections.abc import Callable, Iterator
from typing import Any

import keras
import tensorflow as tf

from quatre_tf.keras_internals import Store, unread, unwritten
from quatre_tf.sharded_rows import Rows, initial_rows, lookup_rows, rows_of, shards_of, there
from quatre_tf.sparse_rows import gather_distinct
from quatre_tf.validation import check_positive, check_table_dtype

# Floats that a table reads from a file, or writes to it, at once.
_FLOATS_AT_ONCE = 2**25
_is_initialized = contextvars.ContextVar("is_initialized", default=True)


@contextlib.contextmanager
def without_initial_values() -> Iterator[None]:
    """Makes new tables of zeros, for models whose weights are then read from a file.

    Random values take several times the time and the memory of the table.
    """
    token = _is_initialized.set(False)
    try:
        yield
    finally:
        _is_initialized.reset(token)


def serialize_initializer(initializer: keras.initializers.Initializer) -> dict[str, Any]:
    """Returns `keras.initializers.serialize` without the arguments that are None.

    They are defaults, and an older Keras may not have them: Keras 3.15 gave its initializers
    `input_axes` and `output_axes`, which the constructors of Keras 3.12 refuse.
    """
    serialized = keras.initializers.serialize(initializer)
    if serialized["module"] != "keras.initializers":
        # In the user's own class, None need not be the default.
        return serialized
    config = {name: value for name, value in serialized["config"].items() if value is not None}
    return {**serialized, "config": config}


@keras.saving.register_keras_serializable("quatre_tf")
class Embedding(keras.layers.Layer):
    """Maps ids to rows of a table `embeddings` `[num_embeddings, components * embedding_dim]`.

    Unlike `keras.layers.Embedding`, a step reads and writes only the rows of its ids.

    Args:
        num_embeddings: Number of rows.
        embedding_dim: Components per row, for example complex numbers.
        components: Floats per component.
        embeddings_initializer: Initializer of the table.

    Raises:
        ValueError: A size is not a positive integer, or the dtype policy does not keep the table in
            float32.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        components: int = 1,
        embeddings_initializer: Any = "glorot_uniform",
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        check_table_dtype(self.dtype_policy)
        self.num_embeddings = check_positive("num_embeddings", num_embeddings)
        self.embedding_dim = check_positive("embedding_dim", embedding_dim)
        self.components = check_positive("components", components)
        self.embeddings_initializer = keras.initializers.get(embeddings_initializer)

    def build(self, input_shape: Any = None) -> None:
        """Creates the table; the shape of the ids does not matter."""
        with tf.variable_creator_scope(self._create_variable):
            self.embeddings = self.add_weight(
                name="embeddings",
                shape=self._shape,
                initializer=self.embeddings_initializer if _is_initialized.get() else "zeros",
                # Mixed precision would cast the whole table for a few rows, and its gradient too.
                autocast=False,
            )
        super().build(input_shape)

    @property
    def _shape(self) -> tuple[int, int]:
        return self.num_embeddings, self.components * self.embedding_dim

    def _create_variable(self, create: Callable[..., tf.Variable], **kwargs: Any) -> tf.Variable:
        """Lets each parameter server make the rows that it holds."""
        strategy = tf.distribute.get_strategy()
        if not isinstance(strategy, tf.distribute.ParameterServerStrategy):
            return create(**kwargs)

        def initial_value(shard_info: Any = None) -> tf.Tensor:
            start, count = 0, self.num_embeddings
            if shard_info is not None:
                start, count = shard_info.offset[0], shard_info.shape[0]
            return initial_rows(self.embeddings_initializer, self._shape, start, start + count)

        return create(**{**kwargs, "initial_value": initial_value, "shape": self._shape})

    def rows(self) -> Rows:
        """Returns the table for a scan: as a tensor, or as `ShardedRows` on parameter servers."""
        return rows_of(self.embeddings.value)

    def save_own_variables(self, store: Store) -> None:
        """Writes the table in pieces; Keras would copy it."""
        rows = unwritten(store, "0", self._shape, self.embeddings.dtype)
        # Traced once for all pieces (`lookup_rows`), and here: TensorFlow warns of functions that
        # are traced again and again, as at each save.
        lookup = tf.function(self.lookup, [tf.TensorSpec([None], tf.int32)], autograph=False)
        read = lookup.get_concrete_function()
        for start, stop in self._pieces():
            rows[start:stop] = read(tf.range(start, stop)).numpy()

    def _pieces(self) -> Iterator[tuple[int, int]]:
        at_once = max(1, _FLOATS_AT_ONCE // self._shape[1])
        for start in range(0, self.num_embeddings, at_once):
            yield start, min(start + at_once, self.num_embeddings)

    def load_own_variables(self, store: Store) -> None:
        """Reads the table in pieces; Keras would hold it three times.

        Raises:
            ValueError: The file has a table of another shape.
        """
        # Copies of a table on several devices cannot be assigned in pieces.
        if tf.distribute.has_strategy():
            super().load_own_variables(store)
            return
        rows = unread(store, "0")
        if rows.shape != self._shape:
            raise ValueError(f"Expected a table {list(self._shape)}, received {list(rows.shape)}.")
        for start, stop in self._pieces():
            self.replace(start, rows[start:stop])

    def replace(self, start: int, rows: Any) -> None:
        """Writes rows `[n, components * embedding_dim]` over those from `start` on."""
        for shard, first in shards_of(self.embeddings.value):
            begin = max(start, first)
            end = min(start + len(rows), first + shard.shape[0])
            if begin < end:
                part = rows[begin - start : end - start]
                there(functools.partial(_assign, begin - first, end - first, part), shard)

    def lookup(self, ids: tf.Tensor) -> tf.Tensor:
        """Returns rows `[..., components * embedding_dim]` in the dtype of the table.

        `tf.nn.embedding_lookup` on the raw variable: `keras.ops.take` and `tf.gather` on a Keras
        variable copy the whole table at every step.
        """
        return lookup_rows(self.embeddings.value, ids)

    def call(self, ids: tf.Tensor) -> tf.Tensor:
        """Returns `[..., components, embedding_dim]` in the compute dtype for ids `[...]`."""
        flat = tf.reshape(tf.cast(ids, tf.int32) if not ids.dtype.is_integer else ids, [-1])
        rows = gather_distinct(self.lookup, flat)
        entry = [self.components, self.embedding_dim]
        shaped = tf.reshape(rows, tf.concat([tf.shape(ids), entry], axis=0))
        shaped = tf.ensure_shape(shaped, [*ids.shape.as_list(), *entry])
        return tf.cast(shaped, self.compute_dtype)

    def compute_output_shape(self, input_shape: Any) -> tuple:
        """Returns `(*input_shape, components, embedding_dim)`."""
        return (*input_shape, self.components, self.embedding_dim)

    def get_config(self) -> dict:
        """Returns the constructor's arguments."""
        return {
            **super().get_config(),
            "num_embeddings": self.num_embeddings,
            "embedding_dim": self.embedding_dim,
            "components": self.components,
            "embeddings_initializer": serialize_initializer(self.embeddings_initializer),
        }


def _assign(begin: int, end: int, rows: Any, variable: tf.Variable) -> None:
    # `variable[begin:end].assign` would copy the table first.
    tf.raw_ops.ResourceStridedSliceAssign(
        ref=variable.handle, begin=[begin], end=[end], strides=[1], value=rows
    )


@keras.saving.register_keras_serializable("quatre_tf")
class QuaternionEmbedding(Embedding):
    """Maps ids to vectors of quaternions.

    The table has rows `[real | i | j | k]` as in the reference implementation. They are not
    normalized.

    Args:
        num_embeddings: Number of rows.
        embedding_dim: Quaternions per row (`n` of the paper).
        embeddings_initializer: Initializer of the table. The default is the reference's: uniform in
            ±sqrt(6 / (num_embeddings + 4 * embedding_dim)).

    Raises:
        ValueError: As for `Embedding`.

    Example:
        >>> layer = QuaternionEmbedding(num_embeddings=10, embedding_dim=8)
        >>> layer(tf.constant([3, 7])).shape
        TensorShape([2, 4, 8])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        embeddings_initializer: Any = "glorot_uniform",
        **kwargs: Any,
    ):
        super().__init__(num_embeddings, embedding_dim, 4, embeddings_initializer, **kwargs)

    def get_config(self) -> dict:
        """Returns the constructor's arguments."""
        config = super().get_config()
        del config["components"]
        return config
