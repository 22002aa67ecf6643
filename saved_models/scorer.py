"""The servable form of a trained model: names in, names and numbers out.

It is a `tf.Module` of fresh variables. A Keras layer under the exported root would load in Python
but not in the session loader of TensorFlow Serving. `README.md` beside this file has the contract.
"""

from collections.abc import Callable

import numpy as np
import tensorflow as tf

from quatre_tf import QuatRE
from quatre_tf.data.candidate_sets import SlotEntities, constraint
from quatre_tf.data.graph import Graph
from quatre_tf.data.known_triples import index_heads, index_tails
from quatre_tf.quaternion import conjugate, hamilton_product
from quatre_tf.ranking.ranks import filtered_ranks
from saved_models.calibration import Calibration
from saved_models.candidates import AnswerTable
from saved_models.entity_table import EntityTable, check_finite
from saved_models.tables import Names

Outputs = dict[str, tf.Tensor]

_HEAD = tf.TensorSpec([None], tf.string, name="head")
_RELATION = tf.TensorSpec([None], tf.string, name="relation")
_TAIL = tf.TensorSpec([None], tf.string, name="tail")
_OPTIONS = [
    tf.TensorSpec([], tf.int32, name="top_k"),
    tf.TensorSpec([], tf.bool, name="filtered"),
    tf.TensorSpec([], tf.bool, name="type_constrained"),
]
# Ranks are counted in batches of so many scores: 128 MiB.
_RANKED_SCORES = 2**25


class Scorer(tf.Module):
    """Answers questions about a knowledge graph; its public methods are the signatures served.

    Inputs `head`, `relation` and `tail` are names `[batch]`. `status` `[batch]` is "OK" or the
    first of "UNKNOWN_HEAD", "UNKNOWN_RELATION" and "UNKNOWN_TAIL" that applies to the row; the
    other outputs of a row that is not OK are "" and 0, and it does not affect any other row.

    Predictions take scalars: `top_k`, at least 1; `filtered`: leave out known answers;
    `type_constrained`: leave out entities that the slot of the relation has nowhere in train.

    Args:
        entities: The entity embeddings, of `width` 4n.
        relation_table: `[2 * num_relations, 4n]` float32, `QuatRE.query_rotations`: first those
            that ask for the tails of each relation, then those that ask for its heads.
        names: Names and labels.
        tails: What is known of the tails of (relation, head).
        heads: What is known of the heads of (relation, tail).
        calibration: Makes probabilities of scores; None: the logistic function does.
        reciprocal: Whether heads have scores of their own (`QuatRE`). A probability is always that
            of the triple's score as `score_triples` gives it.

    Raises:
        DataError: The relation table holds NaN or infinite values.
    """

    def __init__(
        self,
        entities: EntityTable,
        relation_table: np.ndarray,
        names: Names,
        tails: AnswerTable,
        heads: AnswerTable,
        calibration: Calibration | None = None,
        reciprocal: bool = False,
    ):
        super().__init__(name="scorer")
        check_finite("relations", relation_table)
        self._entities, self._names = entities, names
        self._relations = tf.Variable(
            relation_table, trainable=False, name="relations", dtype=tf.float32
        )
        self._tails, self._heads, self._calibration = tails, heads, calibration
        self._reciprocal = reciprocal

    @tf.function(input_signature=[_HEAD, _RELATION, *_OPTIONS])
    def predict_tails(
        self,
        head: tf.Tensor,
        relation: tf.Tensor,
        top_k: tf.Tensor = 10,
        filtered: tf.Tensor = True,
        type_constrained: tf.Tensor = False,
    ) -> Outputs:
        """Returns the most plausible tails, best first.

        Returns:
            `entities`, `labels` (if the data set has any), `scores`, `probabilities`, all
            `[batch, min(top_k, num_entities)]`, and `status`. Where candidates run out, the strings
            are "", the score is -inf and the probability 0.
        """
        heads, relations, status = self._resolve(head=head, relation=relation)
        queries = self._tail_queries(heads, relations)
        admit = self._tails.admit(relations, heads, filtered, type_constrained)
        return self._predict(queries, relations, status, top_k, admit)

    @tf.function(input_signature=[_RELATION, _TAIL, *_OPTIONS])
    def predict_heads(
        self,
        relation: tf.Tensor,
        tail: tf.Tensor,
        top_k: tf.Tensor = 10,
        filtered: tf.Tensor = True,
        type_constrained: tf.Tensor = False,
    ) -> Outputs:
        """Returns the most plausible heads; otherwise as `predict_tails`."""
        relations, tails, status = self._resolve(relation=relation, tail=tail)
        queries = self._head_queries(relations, tails)
        admit = self._heads.admit(relations, tails, filtered, type_constrained)
        judges = None
        if self._reciprocal:
            judges = _rotate(self._entities.rows(tails), conjugate(self._rotations(relations)))
        return self._predict(queries, relations, status, top_k, admit, judges)

    @tf.function(input_signature=[_HEAD, _RELATION, _TAIL])
    def score_triples(self, head: tf.Tensor, relation: tf.Tensor, tail: tf.Tensor) -> Outputs:
        """Returns `score`, `probability` and `status`, all `[batch]`."""
        heads, relations, tails, status = self._resolve(head=head, relation=relation, tail=tail)
        queries = self._tail_queries(heads, relations)
        score = tf.reduce_sum(queries * self._entities.rows(tails), axis=1)
        return _answer(status, score=score, probability=self._probabilities(score, relations))

    @tf.function(input_signature=[_HEAD, _RELATION, _TAIL])
    def rank_tails(self, head: tf.Tensor, relation: tf.Tensor, tail: tf.Tensor) -> Outputs:
        """Returns `rank` and `status` `[batch]`: the filtered rank of the tail, realistic ties."""
        heads, relations, tails, status = self._resolve(head=head, relation=relation, tail=tail)
        known = self._tails.known(relations, heads)
        return self._rank(self._tail_queries(heads, relations), tails, known, status)

    @tf.function(input_signature=[_HEAD, _RELATION, _TAIL])
    def rank_heads(self, head: tf.Tensor, relation: tf.Tensor, tail: tf.Tensor) -> Outputs:
        """Returns `rank` and `status` `[batch]`: the filtered rank of the head, realistic ties."""
        heads, relations, tails, status = self._resolve(head=head, relation=relation, tail=tail)
        known = self._heads.known(relations, tails)
        return self._rank(self._head_queries(relations, tails), heads, known, status)

    def _resolve(self, **names: tf.Tensor) -> list[tf.Tensor]:
        """Returns the ids `[batch]` of each argument, 0 where unknown, and then the status."""
        ids: list[tf.Tensor] = []
        status = tf.constant("OK")
        # A session does not compare what it is fed with the shapes of the signature.
        names = {role: tf.ensure_shape(strings, [None]) for role, strings in names.items()}
        sizes = [tf.size(strings) for strings in names.values()]
        # A length of 1 would be broadcast silently.
        tf.debugging.assert_equal(
            sizes, sizes[0], f"{', '.join(names)} must have as many rows as each other."
        )
        # From the last to the first, so that the first unknown name has the last word.
        for role, strings in reversed(names.items()):
            table = self._names.relations if role == "relation" else self._names.entities
            found = table.ids(strings)
            ids.insert(0, tf.maximum(found, 0))
            status = tf.where(found < 0, f"UNKNOWN_{role.upper()}", status)
        return [*ids, status]

    def _tail_queries(self, heads: tf.Tensor, relations: tf.Tensor) -> tf.Tensor:
        """Returns `h ⊗ w_r` `[batch, 4n]`."""
        return _rotate(self._entities.rows(heads), self._rotations(relations))

    def _head_queries(self, relations: tf.Tensor, tails: tf.Tensor) -> tf.Tensor:
        """Returns `t ⊗ conj(w_r)`, or `t ⊗ w` with the inverse relation's, `[batch, 4n]`."""
        num_relations = self._relations.shape[0] // 2
        return _rotate(self._entities.rows(tails), self._rotations(num_relations + relations))

    def _rotations(self, rows: tf.Tensor) -> tf.Tensor:
        """Returns rows of the relation table as quaternions `[batch, 4, n]`."""
        return _as_quaternions(tf.gather(self._relations.read_value(), rows))

    def _predict(
        self,
        queries: tf.Tensor,
        relations: tf.Tensor,
        status: tf.Tensor,
        top_k: tf.Tensor,
        admit: Callable[[tf.Tensor, tf.Tensor], tf.Tensor],
        judges: tf.Tensor | None = None,
    ) -> Outputs:
        """Ranks by `queries`; probabilities are of the products with `judges`, if these differ."""
        positive = tf.debugging.assert_positive(top_k, "`top_k` must be a positive integer.")
        # Otherwise the graph may use it first, and the error be another.
        with tf.control_dependencies([positive]):
            top_k = tf.identity(top_k)
        scores, ids = self._entities.top_k(queries, top_k, admit)
        exhausted = scores == -np.inf
        ids = tf.where(exhausted, -1, ids)
        outputs = {"entities": self._names.entities.lines(ids), "scores": scores}
        if self._names.labels is not None:
            outputs["labels"] = self._names.labels.lines(ids)
        judged = tf.where(exhausted, 0.0, scores)
        if judges is not None:
            rows = self._entities.rows(tf.maximum(tf.reshape(ids, [-1]), 0))
            rows = tf.reshape(rows, tf.concat([tf.shape(ids), [self._entities.width]], axis=0))
            judged = tf.linalg.matvec(rows, judges)
        columns = tf.repeat(relations, tf.shape(scores)[1])
        probabilities = self._probabilities(tf.reshape(judged, [-1]), columns)
        probabilities = tf.reshape(probabilities, tf.shape(scores))
        return _answer(status, **outputs, probabilities=tf.where(exhausted, 0.0, probabilities))

    def _probabilities(self, scores: tf.Tensor, relations: tf.Tensor) -> tf.Tensor:
        """Returns `[batch]` for scores and relations `[batch]`."""
        if self._calibration is None:
            return tf.sigmoid(scores)
        return self._calibration.probabilities(scores, relations)

    def _rank(
        self, queries: tf.Tensor, targets: tf.Tensor, known: tf.RaggedTensor, status: tf.Tensor
    ) -> Outputs:
        # Batches of bounded size: so are the memory and the ways in which products are rounded.
        size = min(256, max(16, _RANKED_SCORES // self._entities.num_entities))
        ranks = tf.zeros([0], tf.float64)
        for start in tf.range(0, tf.shape(queries)[0], size):
            tf.autograph.experimental.set_loop_options(
                parallel_iterations=1, shape_invariants=[(ranks, tf.TensorShape([None]))]
            )
            rows = slice(start, start + size)
            scores = self._entities.scores(queries[rows])
            ranks = tf.concat([ranks, filtered_ranks(scores, targets[rows], known[rows])], axis=0)
        return _answer(status, rank=tf.cast(ranks, tf.float32))


def build_scorer(
    model: QuatRE,
    graph: Graph,
    calibration: Calibration | None = None,
) -> Scorer:
    """Returns the scorer of a trained model; its filter holds all known triples of the graph.

    Args:
        model: The model.
        graph: The graph that it was trained on.
        calibration: See `Scorer`.

    Raises:
        DataError: The model holds NaN or infinite values.
    """
    known, sizes = graph.known, (graph.num_entities, graph.num_relations)
    labels = [graph.labels.get(name, "") for name in graph.entities.names]
    return Scorer(
        EntityTable(model.entities.embeddings.numpy()),
        tf.reshape(model.query_rotations(), [2 * model.num_relations, -1]).numpy(),
        Names(graph.entities.names, graph.relations.names, labels if any(labels) else None),
        AnswerTable(index_tails(known, sizes[0]), _slot(graph, "tail"), sizes[1], "tails"),
        AnswerTable(index_heads(known, sizes[0]), _slot(graph, "head"), sizes[1], "heads"),
        calibration,
        model.reciprocal,
    )


def _slot(graph: Graph, side: str) -> SlotEntities:
    return constraint(graph, "train_type_constrained", side)


def _as_quaternions(rows: tf.Tensor) -> tf.Tensor:
    return tf.reshape(rows, [-1, 4, rows.shape[1] // 4])


def _rotate(rows: tf.Tensor, rotations: tf.Tensor) -> tf.Tensor:
    """Returns the Hamilton product of rows `[batch, 4n]` and quaternions, again `[batch, 4n]`."""
    return tf.reshape(hamilton_product(_as_quaternions(rows), rotations), [-1, rows.shape[1]])


def _answer(status: tf.Tensor, **outputs: tf.Tensor) -> Outputs:
    """Returns the outputs of a signature, with "" and 0 in the rows whose status is not OK."""
    fine = status == "OK"
    answer = {"status": status}
    for name, output in outputs.items():
        rows = tf.reshape(fine, [-1] + [1] * (output.shape.rank - 1))
        answer[name] = tf.where(rows, output, tf.zeros_like(output))
    return answer
