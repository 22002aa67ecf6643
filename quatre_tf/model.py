"""QuatRE: relation-aware quaternion embeddings of a knowledge graph."""

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from quatre_tf.layers import QuaternionEmbedding, RelationRotations
from quatre_tf.quaternion import conjugate, inner_product
from quatre_tf.sparse_rows import gather_distinct
from quatre_tf.validation import check_positive, describe


@keras.saving.register_keras_serializable("quatre_tf")
class QuatRE(keras.Model):
    """Scores triples (head, relation, tail); higher is more plausible.

    Every score is the folded form `(h ⊗ w_r) · t = h · (t ⊗ conj(w_r))` (see `RelationRotations`),
    so the scores of all tails are one matrix product of the query `h ⊗ w_r` with the raw entity
    table, and those of all heads one of `t ⊗ conj(w_r)` with the same table.

    Queries and scores are computed in the dtype of the tables (float32) whatever the dtype policy:
    a rank taken from lower precision would have made-up ties. Only `call` returns the compute
    dtype.

    What a relation does is up to one layer, which may be your own (docs/library.md). It has

    - `tail_queries(heads, relations)`: `[batch, 4, n]` for quaternions of heads `[batch, 4, n]` and
      relation ids `[batch]`; the dot product of a query with a tail is the score of the triple;
    - `head_queries(relations, tails)`: the same for the other side, with the same scores;
    - `build`, which creates its weights for any input shape, and, to be saved, `get_config`.

    Args:
        num_entities: Number of entities.
        num_relations: Number of relations.
        embedding_dim: Quaternions per embedding (`n` of the paper).
        variant: `"quatre"`, `"quate"`, `"quatre_head"` or `"quatre_tail"` (`RelationRotations`), or
            a layer of your own.
        reciprocal: Whether heads are asked for as tails of an inverse relation with rows of its
            own, row `num_relations + r` of the relation tables (Lacroix et al.). A triple then
            has two scores, one as a question for its tail and one for its head; `score_triples`
            gives the first.
        normalize_relations: Whether v_r is normalised, as in the paper (`RelationRotations`).
        embeddings_initializer: Initialiser of every table.

    Raises:
        ValueError: A size is not a positive integer, or the variant is unknown.
        TypeError: The layer given as variant cannot make queries.

    Example:
        >>> model = QuatRE(num_entities=5, num_relations=2, embedding_dim=8)
        >>> model(tf.constant([[0, 1, 4], [3, 0, 2]])).shape
        TensorShape([2])

    References:
        - Nguyen et al., QuatRE: Relation-Aware Quaternions for Knowledge Graph Embeddings, WWW 2022
        - Lacroix et al., Canonical Tensor Decomposition for Knowledge Base Completion, ICML 2018
    """

    def __init__(
        self,
        num_entities: int,
        num_relations: int,
        embedding_dim: int,
        variant: str | keras.layers.Layer = "quatre",
        reciprocal: bool = False,
        normalize_relations: bool = True,
        embeddings_initializer: Any = "glorot_uniform",
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.num_entities = num_entities
        self.num_relations = num_relations
        self.embedding_dim = embedding_dim
        self.reciprocal = reciprocal
        self.normalize_relations = normalize_relations
        self.embeddings_initializer = keras.initializers.get(embeddings_initializer)
        self.entities = QuaternionEmbedding(
            num_entities,
            embedding_dim,
            self.embeddings_initializer.clone(),
            dtype=self.dtype_policy,
            name="entities",
        )
        # After the entities, so that a layer of one's own does not come before them: the gradients
        # of an objective are in the order of the tables.
        if isinstance(variant, dict):
            variant = keras.saving.deserialize_keras_object(variant)
        self.variant = variant
        check_positive("num_relations", num_relations)
        self.relations = self._make_relations()
        # XLA has neither tf.unique nor the sparse kernels of optimizers: "auto" of `compile` must
        # not choose it.
        self.supports_jit = False
        # The sizes are arguments, so the weights can exist at once: optimizers are built and
        # checkpoints restored before the first batch.
        self.build()

    def _make_relations(self) -> keras.layers.Layer:
        if isinstance(self.variant, keras.layers.Layer):
            return _check_makes_queries(self.variant)
        return RelationRotations(
            2 * self.num_relations if self.reciprocal else self.num_relations,
            self.embedding_dim,
            self.variant,
            self.normalize_relations,
            self.embeddings_initializer.clone(),
            dtype=self.dtype_policy,
            name="relations",
        )

    def build(self, input_shape: Any = None) -> None:
        """Creates all tables; the shape of the triples does not matter."""
        for layer in (self.entities, self.relations):
            if not layer.built:
                layer.build((None,))
        self.built = True

    def call(self, triples: tf.Tensor) -> tf.Tensor:
        """Returns scores `[batch]` in the compute dtype for integer triples `[batch, 3]`."""
        heads, relations, tails = tf.unstack(triples, num=3, axis=-1)
        return tf.cast(self.score_triples(heads, relations, tails), self.compute_dtype)

    def score_triples(self, heads: tf.Tensor, relations: tf.Tensor, tails: tf.Tensor) -> tf.Tensor:
        """Returns the scores `[batch]` of triples given as three id tensors `[batch]`."""
        ids = tf.concat([heads, tails], axis=0)
        head, tail = tf.split(self._as_quaternions(gather_distinct(self.entities.lookup, ids)), 2)
        return inner_product(self.relations.tail_queries(head, relations), tail)

    def tail_queries(self, heads: tf.Tensor, relations: tf.Tensor) -> tf.Tensor:
        """Returns `h ⊗ w_r` `[batch, 4n]`, whose dot products with entity rows are scores."""
        return self._flat(self.relations.tail_queries(self._entity_quaternions(heads), relations))

    def head_queries(self, relations: tf.Tensor, tails: tf.Tensor) -> tf.Tensor:
        """Returns `t ⊗ conj(w_r)` `[batch, 4n]`, whose dot products with entity rows are scores.

        The inverse relation's `t ⊗ w` where the model is reciprocal.
        """
        if self.reciprocal:
            return self.tail_queries(tails, relations + self.num_relations)
        return self._flat(self.relations.head_queries(relations, self._entity_quaternions(tails)))

    def query_rotations(self, relation_rows: Sequence[tf.Tensor] | None = None) -> tf.Tensor:
        """Returns what an entity is multiplied with to ask a question: `[2 * num_relations, 4, n]`.

        Row r asks for the tails of relation r, row `num_relations + r` for its heads.

        Args:
            relation_rows: Rows of the relation tables, as `relations.lookup` returns them, to take
                a gradient through; None: all. Of k rows come `[k, 4, n]` if the model is
                reciprocal, else `[2k, 4, n]`: those that ask for tails, then for heads.

        Raises:
            TypeError: The relations are a layer that rotates nothing.
        """
        if not isinstance(self.relations, RelationRotations):
            raise TypeError(
                "Only RelationRotations have rotations: the export and the objectives in closed "
                "form are made of them. Score with `score_tails`, `score_heads` and "
                f"`score_triples`. {describe('variant', self.variant)}"
            )
        if relation_rows is None:
            folded = self.relations.folded()
        else:
            folded = self.relations.fold(relation_rows)
        return folded if self.reciprocal else tf.concat([folded, conjugate(folded)], axis=0)

    def score_tails(self, heads: tf.Tensor, relations: tf.Tensor) -> tf.Tensor:
        """Returns `[batch, num_entities]`: the score of every entity as the tail."""
        return self.score_candidates(self.tail_queries(heads, relations))

    def score_heads(self, relations: tf.Tensor, tails: tf.Tensor) -> tf.Tensor:
        """Returns `[batch, num_entities]`: the score of every entity as the head."""
        return self.score_candidates(self.head_queries(relations, tails))

    def score_candidates(self, queries: tf.Tensor) -> tf.Tensor:
        """Returns `[batch, num_entities]`: queries `[batch, 4n]` times the entity table."""
        return tf.linalg.matmul(queries, self.entities.embeddings.value, transpose_b=True)

    def _entity_quaternions(self, ids: tf.Tensor) -> tf.Tensor:
        return self._as_quaternions(self.entities.lookup(ids))

    def _as_quaternions(self, rows: tf.Tensor) -> tf.Tensor:
        return tf.reshape(rows, [-1, 4, self.embedding_dim])

    def _flat(self, quaternions: tf.Tensor) -> tf.Tensor:
        return tf.reshape(quaternions, [-1, 4 * self.embedding_dim])

    def compute_output_shape(self, input_shape: Any) -> tuple:
        """Returns `(batch,)` for triples `(batch, 3)`."""
        return tuple(input_shape[:-1])

    def get_config(self) -> dict:
        """Returns the constructor's arguments."""
        return {
            **super().get_config(),
            "num_entities": self.num_entities,
            "num_relations": self.num_relations,
            "embedding_dim": self.embedding_dim,
            "variant": self.variant
            if isinstance(self.variant, str)
            else keras.saving.serialize_keras_object(self.variant),
            "reciprocal": self.reciprocal,
            "normalize_relations": self.normalize_relations,
            "embeddings_initializer": keras.initializers.serialize(self.embeddings_initializer),
        }


def _check_makes_queries(layer: keras.layers.Layer) -> keras.layers.Layer:
    for method in ("tail_queries", "head_queries"):
        if not callable(getattr(layer, method, None)):
            raise TypeError(
                f"A layer given as `variant` needs the methods tail_queries(heads, relations) and "
                f"head_queries(relations, tails); it has no {method}. {describe('variant', layer)}"
            )
    return layer
