"""The servable form of a trained model: names in, names and numbers out.

It is a `tf.Module` of fresh variables. A Keras layer under the exported root would load in Python
but not in the session loader of TensorFlow Serving. `README.md` documents the signatures.
"""

from collections.abc import Callable

import numpy as np
import tensorflow as tf

from quatre_tf.data.graph import Graph
from quatre_tf.layers.pointwise import EnumeratedHeads, enumerating_queries
from quatre_tf.layers.score_function import Weights
from quatre_tf.model import KGEModel
from quatre_tf.ranking.counting import count_better, ranks_from_counts
from quatre_tf.ranking.entity_lists import RankTargets, Tile
from quatre_tf.ranking.tiles import CandidateTable, candidate_table, top_k
from quatre_tf.sharded_rows import ShardedRows, shards_of
from quatre_tf.similarities import Similarity
from quatre_tf.sparse_rows import equal_ends, map_parts
from quatre_tf.validation import check_finite
from saved_models.tables import AnswerTable, LineTable, NameTable

Outputs = dict[str, tf.Tensor]

_HEAD = tf.TensorSpec([None], tf.string, name="head")
_RELATION = tf.TensorSpec([None], tf.string, name="relation")
_TAIL = tf.TensorSpec([None], tf.string, name="tail")
_OPTIONS = [
    tf.TensorSpec([], tf.int32, name="top_k"),
    tf.TensorSpec([], tf.bool, name="filtered"),
    tf.TensorSpec([], tf.bool, name="type_constrained"),
]
# Queries whose ranks are counted together.
_RANKED_AT_ONCE = 256


class Scorer(tf.Module):
    """Answers questions about a knowledge graph; its public methods are the served signatures.

    Inputs `head`, `relation` and `tail` are names `[batch]`. `status` `[batch]` is "OK" or the
    first of "UNKNOWN_HEAD", "UNKNOWN_RELATION" and "UNKNOWN_TAIL" that applies to the row; the
    other outputs of a row that is not OK are "" and 0, and it does not affect any other row.

    Predictions take scalars: `top_k`, at least 1; `filtered`: leave out known answers;
    `type_constrained`: leave out entities that the slot of the relation has nowhere in train.

    Args:
        model: The model. Its rows are copied, but for a table on parameter servers, which is saved
            from there; of its score function only pure functions are used.
        graph: The graph that it was trained on; the filter holds all its known triples.
        calibration: Curves of `fit_curves`, from scores to probabilities; None: the logistic
            function. In a reciprocal model a probability always belongs to the score of
            `score_triples`.
        thresholds: `[num_relations]` float32, the lowest score of a true triple of each relation;
            None: 0.

    Raises:
        DataError: A table holds NaN or infinite values.
    """

    def __init__(
        self,
        model: KGEModel,
        graph: Graph,
        calibration: np.ndarray | None = None,
        thresholds: np.ndarray | None = None,
    ):
        super().__init__(name="scorer")
        function = model.score_function
        rows, norm = candidate_table(model.entities.rows())
        checked = {"entities": norm, "relations": function.folded(), **function.shared_weights}
        for name, table in checked.items():
            check_finite(name, np.asarray(table))
        # The variable itself: TensorFlow writes its shards where they are, as one variable.
        self._table = model.entities.embeddings.value
        if not isinstance(rows, ShardedRows):
            self._table = tf.Variable(rows, trainable=False, name="entities")
        self._folded = tf.Variable(checked["relations"], trainable=False, name="relations")
        self._norm = tf.Variable(norm, trainable=False)
        self._shared = {
            name: tf.Variable(weight, trainable=False, name=name)
            for name, weight in function.shared_weights.items()
        }
        self._num_relations, self._reciprocal = model.num_relations, model.reciprocal
        # The methods, not the layer, which must not be tracked.
        self._make_tail_queries = function.tail_queries
        self._make_head_queries = function.head_queries
        self._encode_queries = function.encode
        self._similarity = self._head_similarity = function.similarity
        self._enumerates_heads = not model.has_head_queries
        if self._enumerates_heads:
            self._make_head_queries = enumerating_queries
            self._head_similarity = EnumeratedHeads(function, self._shared_weights)
        self._entities = NameTable(graph.entities.names, "entities.txt")
        self._relations = NameTable(graph.relations.names, "relations.txt")
        labels = [graph.labels.get(name, "") for name in graph.entities.names]
        self._labels = LineTable(labels, "labels.txt") if any(labels) else None
        self._tails, self._heads = (AnswerTable(graph, side) for side in ("tail", "head"))
        if calibration is None:
            calibration = np.tile([1.0, 0.0], (model.num_relations, 1))
        self._curves = tf.Variable(calibration, trainable=False, name="curves", dtype=tf.float32)
        if thresholds is None:
            thresholds = np.zeros(model.num_relations, np.float32)
        self._thresholds = tf.Variable(thresholds, trainable=False, name="thresholds")

    @tf.function(input_signature=[_HEAD, _RELATION, *_OPTIONS], autograph=False)
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
        mask_scores = self._tails.mask_scores(relations, heads, filtered, type_constrained)
        return self._predict("tail", heads, relations, status, top_k, mask_scores)

    @tf.function(input_signature=[_RELATION, _TAIL, *_OPTIONS], autograph=False)
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
        mask_scores = self._heads.mask_scores(relations, tails, filtered, type_constrained)
        return self._predict("head", tails, relations, status, top_k, mask_scores)

    @tf.function(input_signature=[_HEAD, _RELATION, _TAIL], autograph=False)
    def score_triples(self, head: tf.Tensor, relation: tf.Tensor, tail: tf.Tensor) -> Outputs:
        """Returns `score`, `probability` and `status`, all `[batch]`."""
        heads, relations, tails, status = self._resolve(head=head, relation=relation, tail=tail)
        score = self._scores(heads, relations, tails)
        return _answer(status, score=score, probability=self._probabilities(score, relations))

    @tf.function(input_signature=[_HEAD, _RELATION, _TAIL], autograph=False)
    def classify_triples(self, head: tf.Tensor, relation: tf.Tensor, tail: tf.Tensor) -> Outputs:
        """Returns `is_true`, `score`, `threshold` and `status`, all `[batch]`.

        A triple is true if its score is at least the threshold of its relation.
        """
        heads, relations, tails, status = self._resolve(head=head, relation=relation, tail=tail)
        score = self._scores(heads, relations, tails)
        threshold = tf.gather(self._thresholds.read_value(), relations)
        return _answer(status, is_true=score >= threshold, score=score, threshold=threshold)

    @tf.function(input_signature=[_HEAD, _RELATION, _TAIL], autograph=False)
    def rank_tails(self, head: tf.Tensor, relation: tf.Tensor, tail: tf.Tensor) -> Outputs:
        """Returns `rank` and `status` `[batch]`: the filtered rank of the tail, realistic ties."""
        heads, relations, tails, status = self._resolve(head=head, relation=relation, tail=tail)
        return self._rank("tail", heads, relations, tails, status)

    @tf.function(input_signature=[_HEAD, _RELATION, _TAIL], autograph=False)
    def rank_heads(self, head: tf.Tensor, relation: tf.Tensor, tail: tf.Tensor) -> Outputs:
        """Returns `rank` and `status` `[batch]`: the filtered rank of the head, realistic ties."""
        heads, relations, tails, status = self._resolve(head=head, relation=relation, tail=tail)
        return self._rank("head", tails, relations, heads, status)

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
            table = self._relations if role == "relation" else self._entities
            found = table.ids(strings)
            ids.insert(0, tf.maximum(found, 0))
            status = tf.where(found < 0, f"UNKNOWN_{role.upper()}", status)
        return [*ids, status]

    def _rows(self, ids: tf.Tensor) -> tf.Tensor:
        """Returns the embeddings `[batch, width]` of ids `[batch]`."""
        # Rows of the value, not of the variable: after one sparse read of a variable, TensorFlow
        # would copy the whole table for every matrix product.
        return tf.gather(self._entity_rows(), ids)

    def _entity_rows(self) -> tf.Tensor:
        # While a model is saved, a table on servers has one shard, with all rows.
        return tf.concat([shard.read_value() for shard, _ in shards_of(self._table)], axis=0)

    def _queries(
        self, side: str, given: tf.Tensor, relations: tf.Tensor
    ) -> tuple[tf.Tensor, Similarity]:
        """Returns the queries `[batch, width]` for a side, and what compares them with rows."""
        if side == "head" and self._reciprocal:
            side, relations = "tail", self._num_relations + relations
        rows, folded = self._rows(given), tf.gather(self._folded.read_value(), relations)
        if side == "tail":
            queries, similarity = self._make_tail_queries(rows, folded), self._similarity
        else:
            queries, similarity = self._make_head_queries(rows, folded), self._head_similarity
            if self._enumerates_heads:
                return queries, similarity
        return self._encode_queries(queries, self._shared_weights())[0], similarity

    def _shared_weights(self) -> Weights:
        return {name: weight.read_value() for name, weight in self._shared.items()}

    def _scores(self, heads: tf.Tensor, relations: tf.Tensor, tails: tf.Tensor) -> tf.Tensor:
        """Returns the scores `[batch]` of triples of ids."""
        queries, similarity = self._queries("tail", heads, relations)
        return tf.cast(similarity.pairs(queries, self._rows(tails)), tf.float32)

    def _predict(
        self,
        side: str,
        given: tf.Tensor,
        relations: tf.Tensor,
        status: tf.Tensor,
        top: tf.Tensor,
        mask_scores: Callable[[tf.Tensor, Tile], tf.Tensor],
    ) -> Outputs:
        positive = tf.debugging.assert_positive(top, "`top_k` must be a positive integer.")
        # Otherwise the graph may use it first, and the error be another.
        with tf.control_dependencies([positive]):
            top = tf.identity(top)
        queries, similarity = self._queries(side, given, relations)
        table = self._entity_rows()
        scores, ids = top_k(similarity, table, queries, top, mask_scores, portable=True)
        scores = tf.cast(scores, tf.float32)
        exhausted = scores == -np.inf
        ids = tf.where(exhausted, -1, ids)
        outputs = {"entities": self._entities.lines(ids), "scores": scores}
        if self._labels is not None:
            outputs["labels"] = self._labels.lines(ids)
        flat = tf.reshape(tf.where(exhausted, 0.0, scores), [-1])
        count = tf.shape(scores)[1]
        relations = tf.repeat(relations, count)
        if side == "head" and self._reciprocal:
            # Probabilities are of the triples, not of scores by the inverse relation.
            heads = tf.maximum(tf.reshape(ids, [-1]), 0)
            flat = self._scores(heads, relations, tf.repeat(given, count))
        probabilities = tf.reshape(self._probabilities(flat, relations), tf.shape(scores))
        return _answer(status, **outputs, probabilities=tf.where(exhausted, 0.0, probabilities))

    def _probabilities(self, scores: tf.Tensor, relations: tf.Tensor) -> tf.Tensor:
        """Returns `[batch]` for scores and relations `[batch]`."""
        slopes, intercepts = tf.unstack(tf.gather(self._curves.read_value(), relations), axis=1)
        return tf.sigmoid(slopes * scores + intercepts)

    def _rank(
        self,
        side: str,
        given: tf.Tensor,
        relations: tf.Tensor,
        targets: tf.Tensor,
        status: tf.Tensor,
    ) -> Outputs:
        queries, similarity = self._queries(side, given, relations)
        table = CandidateTable(self._entity_rows(), self._norm.read_value())
        answers = self._tails if side == "tail" else self._heads
        known_lists, set_keys = answers.known_lists(relations, given), tf.zeros([0], tf.int64)

        def rank(rows: slice) -> tuple[tf.Tensor]:
            set_lists = tf.zeros([0, tf.size(targets[rows])], tf.int64)
            known = answers.known_keys, known_lists[rows]
            rank_targets = RankTargets(targets[tf.newaxis, rows], *known, set_keys, set_lists)
            better, equal = count_better(
                queries[rows], table, rank_targets, similarity, portable=True
            )
            return (ranks_from_counts(better[0, 0], equal[0, 0])[:, tf.newaxis],)

        # Batches of bounded size: so is the memory.
        ends = equal_ends(tf.shape(queries)[0], _RANKED_AT_ONCE)
        (ranks,) = map_parts(rank, ends, tf.float64, width=1)
        return _answer(status, rank=tf.cast(ranks[:, 0], tf.float32))


def _answer(status: tf.Tensor, **outputs: tf.Tensor) -> Outputs:
    """Returns the outputs of a signature, with "" and 0 in the rows whose status is not OK."""
    fine = status == "OK"
    answer = {"status": status}
    for name, output in outputs.items():
        rows = tf.reshape(fine, [-1] + [1] * (output.shape.rank - 1))
        answer[name] = tf.where(rows, output, tf.zeros_like(output))
    return answer
