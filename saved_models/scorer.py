"""The servable form of a trained model: names in, names and numbers out.

It is a `tf.Module` of fresh variables. A Keras layer under the exported root would load in Python
but not in the session loader of TensorFlow Serving. `README.md` beside this file has the contract.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from datasets.errors import DataError
from datasets.graph import Graph
from datasets.known_triples import KnownTriples, index_heads, index_tails
from quatre_tf import QuatRE
from quatre_tf.quaternion import conjugate, hamilton_product
from quatre_tf.ranking import candidate_scores, filtered_ranks
from saved_models.tables import KnownTable, NameTable

SIGNATURES = ("predict_tails", "predict_heads", "score_triples", "rank_tails", "rank_heads")
Outputs = dict[str, tf.Tensor]

_HEAD = tf.TensorSpec([None], tf.string, name="head")
_RELATION = tf.TensorSpec([None], tf.string, name="relation")
_TAIL = tf.TensorSpec([None], tf.string, name="tail")
_OPTIONS = [tf.TensorSpec([], tf.int32, name="top_k"), tf.TensorSpec([], tf.bool, name="filtered")]


class Scorer(tf.Module):
    """Answers questions about a knowledge graph; `SIGNATURES` names the methods that are served.

    Inputs `head`, `relation` and `tail` are names `[batch]`. `status` `[batch]` is "OK" or the
    first of "UNKNOWN_HEAD", "UNKNOWN_RELATION" and "UNKNOWN_TAIL" that applies to the row; the
    other outputs of a row that is not OK are "" and 0, and it does not affect any other row.

    Args:
        entity_table: `[num_entities, 4n]` float32.
        relation_table: `[num_relations, 4n]` float32, the folded rotations `w_r`.
        entity_names: Distinct names in id order.
        relation_names: Distinct names in id order.
        known_tails: The known tails of each (relation, head).
        known_heads: The known heads of each (relation, tail).

    Raises:
        DataError: A table holds NaN or infinite values.
    """

    def __init__(
        self,
        entity_table: np.ndarray,
        relation_table: np.ndarray,
        entity_names: Sequence[str] | np.ndarray,
        relation_names: Sequence[str] | np.ndarray,
        known_tails: KnownTriples,
        known_heads: KnownTriples,
    ):
        super().__init__(name="scorer")
        self._entities = _embeddings("entities", entity_table)
        self._relations = _embeddings("relations", relation_table)
        self._entity_names = NameTable(entity_names, "entities.txt")
        self._relation_names = NameTable(relation_names, "relations.txt")
        self._known_tails = KnownTable(known_tails, len(entity_names), "known_tails")
        self._known_heads = KnownTable(known_heads, len(entity_names), "known_heads")

    @tf.function(input_signature=[_HEAD, _RELATION, *_OPTIONS])
    def predict_tails(
        self, head: tf.Tensor, relation: tf.Tensor, top_k: tf.Tensor, filtered: tf.Tensor
    ) -> Outputs:
        """Returns `entities`, `scores` and `status`: the most plausible tails, best first.

        `entities` and `scores` are `[batch, min(top_k, num_entities)]`. With `filtered`, known
        tails are left out; where candidates run out, the entity is "" and the score -inf.
        """
        heads, relations, status = self._resolve(head=head, relation=relation)
        known = self._known_tails.lookup(relations, heads)
        return self._predict(self._tail_queries(heads, relations), known, status, top_k, filtered)

    @tf.function(input_signature=[_RELATION, _TAIL, *_OPTIONS])
    def predict_heads(
        self, relation: tf.Tensor, tail: tf.Tensor, top_k: tf.Tensor, filtered: tf.Tensor
    ) -> Outputs:
        """Returns the most plausible heads; otherwise as `predict_tails`."""
        relations, tails, status = self._resolve(relation=relation, tail=tail)
        known = self._known_heads.lookup(relations, tails)
        return self._predict(self._head_queries(relations, tails), known, status, top_k, filtered)

    @tf.function(input_signature=[_HEAD, _RELATION, _TAIL])
    def score_triples(self, head: tf.Tensor, relation: tf.Tensor, tail: tf.Tensor) -> Outputs:
        """Returns `score`, `probability` (its logistic function) and `status`, all `[batch]`."""
        heads, relations, tails, status = self._resolve(head=head, relation=relation, tail=tail)
        queries = self._tail_queries(heads, relations)
        score = tf.reduce_sum(queries * _rows(self._entities, tails), axis=1)
        return _answer(status, score=score, probability=tf.sigmoid(score))

    @tf.function(input_signature=[_HEAD, _RELATION, _TAIL])
    def rank_tails(self, head: tf.Tensor, relation: tf.Tensor, tail: tf.Tensor) -> Outputs:
        """Returns `rank` and `status` `[batch]`: the filtered rank of the tail, realistic ties."""
        heads, relations, tails, status = self._resolve(head=head, relation=relation, tail=tail)
        known = self._known_tails.lookup(relations, heads)
        return self._rank(self._tail_queries(heads, relations), tails, known, status)

    @tf.function(input_signature=[_HEAD, _RELATION, _TAIL])
    def rank_heads(self, head: tf.Tensor, relation: tf.Tensor, tail: tf.Tensor) -> Outputs:
        """Returns `rank` and `status` `[batch]`: the filtered rank of the head, realistic ties."""
        heads, relations, tails, status = self._resolve(head=head, relation=relation, tail=tail)
        known = self._known_heads.lookup(relations, tails)
        return self._rank(self._head_queries(relations, tails), heads, known, status)

    def _resolve(self, **names: tf.Tensor) -> list[tf.Tensor]:
        """Returns the ids `[batch]` of each argument, 0 where unknown, and then the status."""
        ids: list[tf.Tensor] = []
        status = tf.constant("OK")
        sizes = [tf.size(strings) for strings in names.values()]
        # A length of 1 would be broadcast silently.
        tf.debugging.assert_equal(
            sizes, sizes[0], f"{', '.join(names)} must have as many rows as each other."
        )
        # From the last to the first, so that the first unknown name has the last word.
        for role, strings in reversed(names.items()):
            table = self._relation_names if role == "relation" else self._entity_names
            found = table.ids(strings)
            ids.insert(0, tf.maximum(found, 0))
            status = tf.where(found < 0, f"UNKNOWN_{role.upper()}", status)
        return [*ids, status]

    def _tail_queries(self, heads: tf.Tensor, relations: tf.Tensor) -> tf.Tensor:
        """Returns `h ⊗ w_r` `[batch, 4n]`."""
        rotations = _as_quaternions(_rows(self._relations, relations))
        return _rotate(_rows(self._entities, heads), rotations)

    def _head_queries(self, relations: tf.Tensor, tails: tf.Tensor) -> tf.Tensor:
        """Returns `t ⊗ conj(w_r)` `[batch, 4n]`."""
        rotations = _as_quaternions(_rows(self._relations, relations))
        return _rotate(_rows(self._entities, tails), conjugate(rotations))

    def _predict(
        self,
        queries: tf.Tensor,
        known: tf.RaggedTensor,
        status: tf.Tensor,
        top_k: tf.Tensor,
        filtered: tf.Tensor,
    ) -> Outputs:
        tf.debugging.assert_positive(top_k, "`top_k` must be a positive integer.")
        scores = tf.linalg.matmul(queries, self._entities, transpose_b=True)
        scores = tf.cond(filtered, lambda: _leave_out(known, scores), lambda: scores)
        scores, ids = tf.math.top_k(scores, tf.minimum(top_k, self._entities.shape[0]))
        ids = tf.where(scores == -np.inf, -1, ids)
        return _answer(status, entities=self._entity_names.names(ids), scores=scores)

    def _rank(
        self, queries: tf.Tensor, targets: tf.Tensor, known: tf.RaggedTensor, status: tf.Tensor
    ) -> Outputs:
        ranks = filtered_ranks(candidate_scores(queries, self._entities), targets, known)
        return _answer(status, rank=tf.cast(ranks, tf.float32))


def signatures(scorer: Scorer) -> dict[str, Any]:
    """Returns the concrete functions to serve, by the name of the signature."""
    functions = {name: getattr(scorer, name).get_concrete_function() for name in SIGNATURES}
    return {"serving_default": functions["predict_tails"], **functions}


def build_scorer(model: QuatRE, graph: Graph) -> Scorer:
    """Returns the scorer of a trained model; its filter holds all known triples of the graph.

    Raises:
        DataError: The model holds NaN or infinite values.
    """
    known, num_entities = graph.known, graph.num_entities
    relation_table = tf.reshape(model.relations.folded(), [model.num_relations, -1])
    return Scorer(
        model.entities.embeddings.numpy(),
        relation_table.numpy(),
        graph.entities.names,
        graph.relations.names,
        index_tails(known, num_entities),
        index_heads(known, num_entities),
    )


def _embeddings(name: str, table: np.ndarray) -> tf.Variable:
    if not np.isfinite(table).all():
        raise DataError(
            f"The table of {name} holds NaN or infinite values: such a model cannot be served. "
            "Train it again with a smaller learning rate or a stronger regularisation."
        )
    return tf.Variable(table, trainable=False, name=name, dtype=tf.float32)


def _rows(table: tf.Variable, ids: tf.Tensor) -> tf.Tensor:
    """Returns `[batch, 4n]`."""
    # Rows of the value, not of the variable: after one sparse read of a variable, TensorFlow would
    # copy the whole table for every matrix product.
    return tf.gather(table.read_value(), ids)


def _as_quaternions(rows: tf.Tensor) -> tf.Tensor:
    return tf.reshape(rows, [-1, 4, rows.shape[1] // 4])


def _rotate(rows: tf.Tensor, rotations: tf.Tensor) -> tf.Tensor:
    """Returns the Hamilton product of rows `[batch, 4n]` and quaternions, again `[batch, 4n]`."""
    return tf.reshape(hamilton_product(_as_quaternions(rows), rotations), [-1, rows.shape[1]])


def _leave_out(known: tf.RaggedTensor, scores: tf.Tensor) -> tf.Tensor:
    """Returns the scores with -inf at the known entities of each row."""
    places = tf.stack([known.value_rowids(), tf.cast(known.flat_values, tf.int64)], axis=1)
    return tf.tensor_scatter_nd_update(scores, places, tf.fill(tf.shape(places)[:1], -np.inf))


def _answer(status: tf.Tensor, **outputs: tf.Tensor) -> Outputs:
    """Returns the outputs of a signature, with "" and 0 in the rows whose status is not OK."""
    fine = status == "OK"
    answer = {"status": status}
    for name, output in outputs.items():
        rows = tf.reshape(fine, [-1] + [1] * (output.shape.rank - 1))
        answer[name] = tf.where(rows, output, tf.zeros_like(output))
    return answer
