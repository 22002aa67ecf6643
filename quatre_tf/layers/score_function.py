"""Base class of score functions: relation tables, and pure functions that make queries."""

import functools
import inspect
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

import keras
import numpy as np
import tensorflow as tf

from quatre_tf.keras_internals import Store
from quatre_tf.layers.embedding import serialize_initializer
from quatre_tf.poincare import keep_in_ball
from quatre_tf.sharded_rows import is_sharded, lookup_rows
from quatre_tf.similarities import DOT, Similarity
from quatre_tf.sparse_rows import gather_distinct
from quatre_tf.validation import check_positive, check_table_dtype

Weights: TypeAlias = Mapping[str, tf.Tensor]


class ScoreFunction(keras.layers.Layer):
    """Scores a triple by comparing a query, made from an entity and a relation, with an entity row.

    A subclass names its relation tables and says how rows become queries. All its mathematics is
    pure functions of rows, so that training, ranking, serving and adding entities need nothing
    else. Gradients come from TensorFlow.

    Example:
        class DistMult(ScoreFunction):
            multilinear = True

            def tail_queries(self, heads, folded):
                return heads * folded

            def head_queries(self, tails, folded):
                return tails * folded

    Args:
        num_relations: Rows of the relation tables; twice the number of relations in a reciprocal
            model.
        embedding_dim: Components per embedding.
        embeddings_initializer: Initializer of every table.

    Attributes:
        entity_components: Floats per component: an entity has `entity_components * embedding_dim`.
        multilinear: Whether a score is linear in each of the head's row, the folded relation and
            the tail's row. Entities can then be added, and relations predicted.
        multiplies_by_matrix: Whether a folded relation is a matrix `[dim, dim]`, row by row, and
            the tail query is the head's row times it, the head query the tail's times its
            transpose. Training then multiplies all rows of a relation at once.
        similarity: How a query is compared with an entity row.
        ball_tables: Names of the tables whose entries are points of the Poincare ball, which
            `SparseAdagrad` moves along geodesics; `entity` must then come first in a row.

    Raises:
        ValueError: A size is not a positive integer, or the dtype policy does not keep the tables
            in float32.
    """

    entity_components: ClassVar[int] = 1
    multilinear: ClassVar[bool] = False
    multiplies_by_matrix: ClassVar[bool] = False
    similarity: Similarity = DOT
    ball_tables: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        num_relations: int,
        embedding_dim: int,
        embeddings_initializer: Any = "glorot_uniform",
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        check_table_dtype(self.dtype_policy)
        self.num_relations = check_positive("num_relations", num_relations)
        self.embedding_dim = check_positive("embedding_dim", embedding_dim)
        self.embeddings_initializer = keras.initializers.get(embeddings_initializer)
        self._weights_by_name: dict[str, keras.Variable] = {}

    @property
    def entity_width(self) -> int:
        """Floats per entity."""
        return sum(map(self.width_of, self.entity_tables().values()))

    @classmethod
    def options_of(cls, tables: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """Returns the constructor's arguments that the shapes of tables tell, for `from_tables`."""
        del tables
        return {}

    def entity_tables(self) -> dict[str, tuple[int, ...]]:
        """Returns the shape of an entity's entry in each table; a row holds all, side by side."""
        return {"entity": (self.entity_components * self.embedding_dim,)}

    def relation_tables(self) -> dict[str, tuple[int, ...]]:
        """Returns the shape of a relation's entry in each table, by the name of the table."""
        return {"relation": (self.entity_width,)}

    def dense_tables(self) -> dict[str, tuple[int, ...]]:
        """Returns the shapes of the trained weights that all relations share, by name."""
        return {}

    def statistics(self) -> dict[str, tuple[int, ...]]:
        """Returns the shapes of shared weights without a gradient, as moving means, by name."""
        return {}

    def weight_shapes(self) -> dict[str, tuple[int, ...]]:
        """Returns the shapes of `relation_tables`, `dense_tables` and `statistics`."""
        return {**self.relation_tables(), **self.dense_tables(), **self.statistics()}

    @staticmethod
    def width_of(shape: tuple[int, ...]) -> int:
        """Returns the floats of an entry of some shape."""
        return math.prod(shape)

    def fold(self, rows: Sequence[tf.Tensor]) -> tf.Tensor:
        """Returns the relation rows for queries, `[k, width]`; by default unchanged.

        Args:
            rows: `[k, floats]` of each of `relation_tables`.
        """
        return rows[0]

    def unfold(self, folded: tf.Tensor) -> list[tf.Tensor]:
        """Returns the rows of each table in its shape, for rows that `fold` put side by side.

        `PointwiseScore` puts the dense tables behind them.
        """
        shapes = [*self.relation_tables().values(), *self.dense_tables().values()]
        rows = tf.split(folded, [self.width_of(shape) for shape in shapes], axis=-1)
        return [tf.reshape(row, [-1, *shape]) for row, shape in zip(rows, shapes, strict=True)]

    def tail_queries(self, heads: tf.Tensor, folded: tf.Tensor) -> tf.Tensor:
        """Returns the queries `[batch, width]` that tails are compared with.

        Args:
            heads: Entity rows `[batch, entity_width]`.
            folded: `[batch, ...]` of `fold`.
        """
        raise NotImplementedError

    def head_queries(self, tails: tf.Tensor, folded: tf.Tensor) -> tf.Tensor:
        """Returns the queries `[batch, width]` that heads are compared with, with the same scores.

        A score function without it predicts heads through reciprocal relations only.
        """
        raise NotImplementedError

    def encode(
        self, queries: tf.Tensor, weights: Weights, seed: tf.Tensor | None = None
    ) -> tuple[tf.Tensor, Weights]:
        """Returns what candidates are compared with, by default the queries as they are.

        Args:
            queries: `[..., width]` of `tail_queries` or `head_queries`.
            weights: Those of `dense_tables` and `statistics`, in their shapes.
            seed: `[2]` int64, of the random numbers of a training step; None outside training.

        Returns:
            `[..., width]`; and in training the new values of `statistics`.
        """
        del weights, seed
        return queries, {}

    @functools.cached_property
    def kind(self) -> tuple[type, str]:
        """What score functions with the same pure functions share: class and configuration."""
        config = self.get_config()
        for name in ("name", "trainable", "dtype", "num_relations", "embeddings_initializer"):
            config.pop(name, None)
        return type(self), json.dumps(config, sort_keys=True)

    @property
    def has_head_queries(self) -> bool:
        """Whether heads can be predicted without reciprocal relations."""
        return type(self).head_queries is not ScoreFunction.head_queries

    @property
    def tables(self) -> dict[str, keras.Variable]:
        """The tables by name, `[num_relations, floats]`, and the weights that relations share."""
        return dict(self._weights_by_name)

    @property
    def shared_weights(self) -> Weights:
        """The values of `dense_tables` and `statistics`, as `encode` takes them."""
        shared = self._weights_by_name.keys() - self.relation_tables().keys()
        return {
            name: tf.convert_to_tensor(weight.value)
            for name, weight in self._weights_by_name.items()
            if name in shared
        }

    def build(self, input_shape: Any = None) -> None:
        """Creates the tables; the shape of the ids does not matter."""
        per_relation, statistics = self.relation_tables(), self.statistics()
        for name, shape in self.weight_shapes().items():
            rows = (self.num_relations, self.width_of(shape))
            table = self.add_weight(
                name=name,
                shape=rows if name in per_relation else shape,
                initializer=self.table_initializer(name),
                trainable=name not in statistics,
                # Statistics are the same in all replicas.
                aggregation="only_first_replica" if name in statistics else "none",
                autocast=False,
            )
            if name in self.ball_tables:
                keep_in_ball(table, rows[1])
            self._weights_by_name[name] = table
        super().build(input_shape)

    def table_initializer(self, name: str) -> Any:
        """Returns the initializer of one of `weight_shapes`, by default the constructor's."""
        del name
        # A clone: a seeded initializer shared by the tables would give them equal values.
        return self.embeddings_initializer.clone()

    def save_own_variables(self, store: Store) -> None:
        """Writes the weights; Keras cannot read those that are in shards."""
        weights = self._weights_by_name.values()
        if not any(is_sharded(weight.value) for weight in weights):
            super().save_own_variables(store)
            return
        for place, weight in enumerate(weights):
            store[str(place)] = tf.convert_to_tensor(weight.value)

    def lookup(self, relation_ids: tf.Tensor) -> list[tf.Tensor]:
        """Returns the raw rows `[batch, floats]` of each table."""
        # Of the raw variable: `tf.gather` on a Keras variable copies the whole table.
        return [
            lookup_rows(self._weights_by_name[name].value, relation_ids)
            for name in self.relation_tables()
        ]

    def encode_in_training(
        self, queries: tf.Tensor, seed: tf.Tensor | None
    ) -> tuple[tf.Tensor, Callable[[tf.Tensor], tuple[tf.Tensor, list[tf.Tensor]]]]:
        """Encodes queries with the weights of the layer, and updates `statistics`.

        Args:
            queries: `[..., width]`.
            seed: As of `encode`.

        Returns:
            The encoded queries, and a function that returns the gradients of queries and of
            `dense_tables` for that of the encoded queries.
        """
        weights, names = self.shared_weights, list(self.dense_tables())
        sources = [queries, *(weights[name] for name in names)]
        with tf.GradientTape() as tape:
            tape.watch(sources)
            encoded, statistics = self.encode(queries, weights, seed)
        for name, value in statistics.items():
            self._weights_by_name[name].assign(value)

        def gradients(upstream: tf.Tensor) -> tuple[tf.Tensor, list[tf.Tensor]]:
            if encoded is queries and not names:
                return upstream, []
            of_queries, *of_weights = tape.gradient(encoded, sources, output_gradients=upstream)
            return of_queries, of_weights

        return encoded, gradients

    def folded(self, relation_ids: tf.Tensor | None = None) -> tf.Tensor:
        """Returns `fold` of some relations, each folded once, or of all of them."""
        if relation_ids is None:
            return self.fold(self.lookup(tf.range(self.num_relations)))
        return gather_distinct(lambda ids: self.fold(self.lookup(ids)), relation_ids)

    def call(self, relation_ids: tf.Tensor) -> tf.Tensor:
        """Returns `fold` of relations `[batch]`, `[batch, width]` in the compute dtype."""
        return tf.cast(self.folded(relation_ids), self.compute_dtype)

    def compute_output_shape(self, input_shape: Any) -> tuple:
        """Returns `(*input_shape, width)`."""
        widths = map(self.width_of, self.relation_tables().values())
        return (*input_shape, self.fold([tf.zeros([1, width]) for width in widths]).shape[-1])

    def get_config(self) -> dict:
        """Returns the constructor's arguments: those that are attributes of the same name."""
        classes: Any = type(self).__mro__[: type(self).__mro__.index(ScoreFunction)]
        own = [name for cls in classes for name in inspect.signature(cls.__init__).parameters]
        return {
            **{name: getattr(self, name) for name in own if hasattr(self, name)},
            **super().get_config(),
            "num_relations": self.num_relations,
            "embedding_dim": self.embedding_dim,
            "embeddings_initializer": serialize_initializer(self.embeddings_initializer),
        }
