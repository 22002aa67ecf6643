"""Models: an entity table and a score function."""

import functools
from collections.abc import Mapping
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from quatre_tf.layers.embedding import Embedding, serialize_initializer
from quatre_tf.layers.pointwise import EnumeratedHeads, enumerating_queries
from quatre_tf.layers.registry import make_score_function, score_function_class
from quatre_tf.layers.score_function import ScoreFunction
from quatre_tf.poincare import keep_in_ball
from quatre_tf.similarities import Similarity
from quatre_tf.sparse_rows import gather_distinct
from quatre_tf.validation import check_positive, describe


@keras.saving.register_keras_serializable("quatre_tf")
class KGEModel(keras.Model):
    """Scores triples (head, relation, tail); higher is more plausible.

    A score compares a query, made of an entity and a relation, with the row of another entity
    (`ScoreFunction`). Queries and scores are computed in the dtype of the tables (float32) whatever
    the dtype policy: a rank taken from lower precision would have made-up ties. Only `call` returns
    the compute dtype.

    Args:
        num_entities: Number of entities.
        num_relations: Number of relations.
        embedding_dim: Components per embedding: quaternions, complex numbers or floats.
        score_function: A name of `quatre_tf.layers.registry.SCORE_FUNCTIONS`, or a layer that has
            as many relations and components, twice the relations if `reciprocal`.
        reciprocal: Whether heads are predicted as tails of an inverse relation with its own rows,
            row `num_relations + r` of the relation tables (Lacroix et al.). A triple then has two
            scores, one as a query for its tail and one for its head; `score_triples` returns the
            first.
        embeddings_initializer: Initializer of every table.
        options: Further arguments of a score function that is given by name.

    Raises:
        ValueError: A size is not a positive integer, the name is unknown, the layer's sizes are
            not the model's, or the dtype policy does not keep the tables in float32.

    Example:
        >>> model = KGEModel(5, 2, embedding_dim=8, score_function="complex")
        >>> model(tf.constant([[0, 1, 4], [3, 0, 2]])).shape
        TensorShape([2])

    References:
        - Lacroix et al., Canonical Tensor Decomposition for Knowledge Base Completion, ICML 2018
    """

    def __init__(
        self,
        num_entities: int,
        num_relations: int,
        embedding_dim: int,
        score_function: str | ScoreFunction = "quatre",
        reciprocal: bool = False,
        embeddings_initializer: Any = "glorot_uniform",
        options: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.num_entities = num_entities
        self.num_relations = check_positive("num_relations", num_relations)
        self.embedding_dim = embedding_dim
        self.reciprocal = reciprocal
        self.embeddings_initializer = keras.initializers.get(embeddings_initializer)
        self.options = dict(options or {})
        self._name_of_score_function = score_function if isinstance(score_function, str) else None
        # Clones draw their seeds here: the entities' first, so that a seed gives the initial values
        # that it gave in 0.1.0.
        entity_initializer = self.embeddings_initializer.clone()
        layer = self._make_score_function(score_function)
        # Before the score function: the gradients of an objective are in the order of the tables.
        self.entities = Embedding(
            num_entities,
            layer.entity_width // layer.entity_components,
            layer.entity_components,
            entity_initializer,
            dtype=self.dtype_policy,
            name="entities",
        )
        self.score_function = layer
        # XLA has neither tf.unique nor the sparse kernels of optimizers: "auto" of `compile` must
        # not choose it.
        self.supports_jit = False
        # The sizes are arguments, so the weights can exist at once: optimizers are built and
        # checkpoints restored before the first batch.
        self.build()

    def _make_score_function(self, given: Any) -> ScoreFunction:
        wanted = (
            2 * self.num_relations if self.reciprocal else self.num_relations,
            self.embedding_dim,
        )
        layer = given
        if isinstance(given, dict):
            layer = keras.saving.deserialize_keras_object(given)
        if isinstance(given, str):
            layer = make_score_function(
                given,
                *wanted,
                embeddings_initializer=self.embeddings_initializer.clone(),
                **self.options,
                dtype=self.dtype_policy,
                name="relations",
            )
        if not isinstance(layer, ScoreFunction):
            raise TypeError(
                "`score_function` must be a name or a ScoreFunction layer. "
                f"{describe('score_function', layer)}"
            )
        if (layer.num_relations, layer.embedding_dim) != wanted:
            raise ValueError(
                f"The score function must have num_relations={wanted[0]} and "
                f"embedding_dim={wanted[1]}, as the model"
                f"{' with reciprocal relations' if self.reciprocal else ''}. Received: "
                f"num_relations={layer.num_relations}, embedding_dim={layer.embedding_dim}."
            )
        return layer

    @property
    def has_head_queries(self) -> bool:
        """Whether a query for heads is compared with entity rows as one for tails is.

        Otherwise every entity makes a query (`EnumeratedHeads`), which is too slow for training.
        """
        return self.reciprocal or self.score_function.has_head_queries

    def build(self, input_shape: Any = None) -> None:
        """Creates all tables; the shape of the triples does not matter."""
        for layer in (self.entities, self.score_function):
            if not layer.built:
                layer.build((None,))
        if "entity" in self.score_function.ball_tables:
            point = self.score_function.entity_tables()["entity"]
            keep_in_ball(self.entities.embeddings, self.score_function.width_of(point))
        self.built = True

    def call(self, triples: tf.Tensor) -> tf.Tensor:
        """Returns scores `[batch]` in the compute dtype for integer triples `[batch, 3]`."""
        heads, relations, tails = tf.unstack(triples, num=3, axis=-1)
        return tf.cast(self.score_triples(heads, relations, tails), self.compute_dtype)

    def score_triples(self, heads: tf.Tensor, relations: tf.Tensor, tails: tf.Tensor) -> tf.Tensor:
        """Returns the scores `[batch]` of triples given as three id tensors `[batch]`.

        Raises:
            ValueError: In eager execution, an id is out of range.
        """
        self._check_ids(self._num_asked, heads=heads, relations=relations, tails=tails)
        ids = tf.concat([heads, tails], axis=0)
        head, tail = tf.split(gather_distinct(self.entities.lookup, ids), 2)
        folded = self.score_function.folded(relations)
        queries = self._encode(self.score_function.tail_queries(head, folded))
        return self.score_function.similarity.pairs(queries, tail)

    def tail_queries(self, heads: tf.Tensor, relations: tf.Tensor) -> tf.Tensor:
        """Returns the queries `[batch, width]` of (head, relation, ?)."""
        folded = self.score_function.folded(relations)
        return self._encode(self.score_function.tail_queries(self.entities.lookup(heads), folded))

    def head_queries(self, relations: tf.Tensor, tails: tf.Tensor) -> tf.Tensor:
        """Returns the queries `[batch, width]` of (?, relation, tail)."""
        if self.reciprocal:
            return self.tail_queries(tails, tf.add(relations, self.num_relations))
        rows, folded = self.entities.lookup(tails), self.score_function.folded(relations)
        if not self.has_head_queries:
            return enumerating_queries(rows, folded)
        return self._encode(self.score_function.head_queries(rows, folded))

    def similarity(self, side: str) -> Similarity:
        """Returns how the queries for a side, `head` or `tail`, are compared with entity rows."""
        if side == "head" and not self.has_head_queries:
            return self._enumerated_heads
        return self.score_function.similarity

    @functools.cached_property
    def _enumerated_heads(self) -> EnumeratedHeads:
        # One object: ranking is compiled for each.
        function = self.score_function
        return EnumeratedHeads(function, lambda: function.shared_weights)

    def _encode(self, queries: tf.Tensor) -> tf.Tensor:
        return self.score_function.encode(queries, self.score_function.shared_weights)[0]

    def score_tails(self, heads: tf.Tensor, relations: tf.Tensor) -> tf.Tensor:
        """Returns `[batch, num_entities]`: the score of every entity as the tail.

        Raises:
            ValueError: In eager execution, an id is out of range.
        """
        self._check_ids(self._num_asked, heads=heads, relations=relations)
        return self.score_candidates(self.tail_queries(heads, relations))

    def score_heads(self, relations: tf.Tensor, tails: tf.Tensor) -> tf.Tensor:
        """Returns `[batch, num_entities]`: the score of every entity as the head.

        Raises:
            ValueError: In eager execution, an id is out of range.
        """
        self._check_ids(self.num_relations, relations=relations, tails=tails)
        return self.score_candidates(self.head_queries(relations, tails), "head")

    @property
    def _num_asked(self) -> int:
        """How many relations tails can be asked by: the inverse ones are among them."""
        return self.score_function.num_relations

    def _check_ids(self, num_relations: int, **ids: tf.Tensor) -> None:
        for name, values in ids.items():
            limit = num_relations if name == "relations" else self.num_entities
            if tf.is_symbolic_tensor(values) or not np.size(values):
                continue
            low, high = np.min(values), np.max(values)
            if low < 0 or high >= limit:
                raise ValueError(
                    f"`{name}` must be ids in 0 ... {limit - 1}. Received: "
                    f"{low if low < 0 else high}."
                )

    def score_candidates(self, queries: tf.Tensor, side: str = "tail") -> tf.Tensor:
        """Returns `[batch, num_entities]`: queries `[batch, width]` against the entity table."""
        table = tf.convert_to_tensor(self.entities.embeddings.value)
        return tf.transpose(self.similarity(side).tile(table, queries))

    def tables(self) -> dict[str, np.ndarray]:
        """Returns the embeddings by name.

        They are `[num_entities, ...]` for `entity_tables` of the score function, which begin with
        `entity`, `[num_relations, ...]` for its `relation_tables`, then its `dense_tables` and
        `statistics`.
        """
        function = self.score_function
        shapes = function.entity_tables()
        ends = np.cumsum([function.width_of(shape) for shape in shapes.values()])
        columns = np.split(self.entities.embeddings.numpy(), ends[:-1], axis=1)
        entities = {
            name: np.reshape(part, [-1, *shape])
            for (name, shape), part in zip(shapes.items(), columns, strict=True)
        }
        shapes = function.relation_tables()
        relations = {
            name: np.reshape(table.numpy(), [-1, *shapes[name]])
            if name in shapes
            else table.numpy()
            for name, table in function.tables.items()
        }
        return {**entities, **relations}

    def assign_tables(self, tables: Mapping[str, np.ndarray]) -> None:
        """Assigns the embeddings of another model; the inverse of `tables`.

        Raises:
            ValueError: A table is missing, unknown, or of another shape.
        """
        wanted = {name: table.shape for name, table in self.tables().items()}
        found = {name: np.shape(table) for name, table in tables.items()}
        if found != wanted:
            raise ValueError(
                f"`tables` must have the shapes {_listed(wanted)}. Received: {_listed(found)}."
            )
        columns = [
            np.reshape(tables[name], [self.num_entities, -1])
            for name in self.score_function.entity_tables()
        ]
        self.entities.embeddings.assign(np.concatenate(columns, axis=1))
        for name, table in self.score_function.tables.items():
            table.assign(np.reshape(tables[name], table.shape))

    def compute_output_shape(self, input_shape: Any) -> tuple:
        """Returns `(batch,)` for triples `(batch, 3)`."""
        return tuple(input_shape[:-1])

    def export(
        self,
        filepath: Any,
        format: str = "tf_saved_model",
        verbose: bool | None = None,
        input_signature: Any = None,
        **kwargs: Any,
    ) -> None:
        """Writes `call` as a model that needs no Python, as `keras.Model.export`.

        Args:
            filepath: The folder or file to write.
            format: Of `keras.Model.export`.
            verbose: Whether Keras prints a summary.
            input_signature: A list of one `keras.InputSpec`; by default int32 triples `[None, 3]`.
            **kwargs: Of the format.
        """
        # Keras would infer the compute dtype from the first call, but ids are integers.
        signature = input_signature or [keras.InputSpec(shape=(None, 3), dtype="int32")]
        super().export(filepath, format, verbose, input_signature=signature, **kwargs)

    def get_config(self) -> dict:
        """Returns the constructor's arguments."""
        return {
            **super().get_config(),
            "num_entities": self.num_entities,
            "num_relations": self.num_relations,
            "embedding_dim": self.embedding_dim,
            "score_function": self._name_of_score_function
            or keras.saving.serialize_keras_object(self.score_function),
            "reciprocal": self.reciprocal,
            "embeddings_initializer": serialize_initializer(self.embeddings_initializer),
            "options": self.options,
        }


def without_tables(model_class: type[KGEModel], config: Mapping[str, Any]) -> KGEModel:
    """Returns a model that has no tables.

    Args:
        model_class: Its class.
        config: Of its `get_config`.

    Raises:
        ValueError: As for the constructor.
    """
    unbuilt: Any = type("Unbuilt", (model_class,), {"build": lambda self, input_shape=None: None})
    return unbuilt.from_config(dict(config))


def table_sizes(model: KGEModel) -> list[int]:
    """Returns the floats of each table that a model has or would have, the entities' first."""
    function = model.score_function
    rows = dict.fromkeys(function.relation_tables(), function.num_relations)
    sizes = {
        name: rows.get(name, 1) * function.width_of(shape)
        for name, shape in function.weight_shapes().items()
    }
    return [model.num_entities * function.entity_width, *sizes.values()]


@keras.saving.register_keras_serializable("quatre_tf")
class QuatRE(KGEModel):
    """The paper's model: rotations of quaternions (`RelationRotations`).

    Args:
        num_entities: Number of entities.
        num_relations: Number of relations.
        embedding_dim: Quaternions per embedding (`n` of the paper).
        variant: `"quatre"`, `"quate"`, `"quatre_head"` or `"quatre_tail"`.
        reciprocal: See `KGEModel`.
        normalize_relations: Whether v_r is normalized, as in the paper.
        embeddings_initializer: Initializer of every table.

    Example:
        >>> model = QuatRE(num_entities=5, num_relations=2, embedding_dim=8)
        >>> model(tf.constant([[0, 1, 4], [3, 0, 2]])).shape
        TensorShape([2])

    References:
        - Nguyen et al., QuatRE: Relation-Aware Quaternions for Knowledge Graph Embeddings, WWW 2022
    """

    def __init__(
        self,
        num_entities: int,
        num_relations: int,
        embedding_dim: int,
        variant: str = "quatre",
        reciprocal: bool = False,
        normalize_relations: bool = True,
        embeddings_initializer: Any = "glorot_uniform",
        **kwargs: Any,
    ):
        super().__init__(
            num_entities,
            num_relations,
            embedding_dim,
            variant,
            reciprocal,
            embeddings_initializer,
            {"normalize_relations": normalize_relations},
            **kwargs,
        )
        self.variant, self.normalize_relations = variant, normalize_relations

    def get_config(self) -> dict:
        """Returns the constructor's arguments."""
        config = super().get_config()
        options, variant = config.pop("options"), config.pop("score_function")
        return {**config, "variant": variant, **options}


def from_tables(
    name: str,
    tables: Mapping[str, np.ndarray],
    *,
    reciprocal: bool = False,
    **options: Any,
) -> KGEModel:
    """Returns a model with embeddings that were trained elsewhere.

    Args:
        name: A name of `quatre_tf.layers.registry.SCORE_FUNCTIONS`.
        tables: By name, as `KGEModel.tables` returns them.
        reciprocal: Whether the second half of the relation rows predicts heads.
        **options: Arguments of the score function, such as `norm=1`; sizes that the tables show are
            not needed.

    Raises:
        ValueError: A table is missing, unknown, or of another shape.

    Example:
        >>> tables = {"entity": np.ones([3, 4]), "relation": np.ones([2, 4])}
        >>> float(from_tables("distmult", tables).score_triples([0], [1], [2])[0])
        4.0
    """
    if "entity" not in tables or len(tables) < 2:
        raise ValueError(
            "`tables` must hold `entity` and the tables of the relations. "
            f"Received: {', '.join(tables) or 'none'}."
        )
    options = {**score_function_class(name).options_of(tables), **options}
    function = make_score_function(name, 1, 1, **options)
    num_entities, width = np.shape(tables["entity"])
    # A table that is missing is reported with the shapes that are wanted.
    rows = next((len(tables[key]) for key in function.relation_tables() if key in tables), 1)
    model = KGEModel(
        num_entities,
        max(rows // 2 if reciprocal else rows, 1),
        max(width // function.entity_components, 1),
        name,
        reciprocal,
        embeddings_initializer="zeros",
        options=options,
    )
    model.assign_tables(tables)
    return model


def _listed(shapes: Mapping[str, tuple[int, ...]]) -> str:
    return ", ".join(f"{name} {list(shape)}" for name, shape in shapes.items())
