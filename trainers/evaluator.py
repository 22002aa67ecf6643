"""Filtered ranking of a split: the figures that a run reports."""

from typing import Any

import numpy as np
import tensorflow as tf

from datasets.graph import Graph
from datasets.known_triples import KnownTriples, index_heads, index_tails
from quatre_tf import QuatRE
from quatre_tf.metrics import rank_metrics
from quatre_tf.ranking import lookup_known, rank_queries, ranks_from_counts
from trainers.errors import TrainingError


class Evaluator:
    """Ranks the triples of a split among all entities, known triples of all splits filtered out.

    Args:
        graph: The graph.
        tie_policy: How equal scores count (`quatre_tf.ranking.TIE_POLICIES`).
        seed: Of the samples drawn with `max_triples`.
    """

    def __init__(self, graph: Graph, tie_policy: str = "realistic", seed: int = 1):
        self._graph, self._tie_policy, self._seed = graph, tie_policy, seed
        self._known_tails = index_tails(graph.known, graph.num_entities)
        self._known_heads = index_heads(graph.known, graph.num_entities)

    def evaluate(self, model: QuatRE, split: str, max_triples: int | None = None) -> dict[str, Any]:
        """Returns the figures of a split.

        Args:
            model: The model.
            split: `"train"`, `"valid"` or `"test"`.
            max_triples: Rank only so many, drawn once by the seed: the same ones at every call.

        Returns:
            `{"split", "num_triples", "tie_policy", "candidates": {"all": {"both" | "head" | "tail":
            {"mr", "mrr", "hits@1", "hits@3", "hits@10"}}}}`, hits as fractions. `head` is the side
            that was asked for.

        Raises:
            TrainingError: A score is NaN or infinite.
        """
        triples = self._graph.split(split)
        if max_triples is not None and max_triples < len(triples):
            rng = np.random.default_rng(self._seed)
            triples = triples[np.sort(rng.choice(len(triples), max_triples, replace=False))]
        ranks = {
            "head": self._ranks(model, triples, "head"),
            "tail": self._ranks(model, triples, "tail"),
        }
        ranks["both"] = np.concatenate([ranks["head"], ranks["tail"]])
        return {
            "split": split,
            "num_triples": len(triples),
            "tie_policy": self._tie_policy,
            "candidates": {"all": {side: rank_metrics(ranks[side]) for side in _SIDES}},
        }

    def _ranks(self, model: QuatRE, triples: np.ndarray, side: str) -> np.ndarray:
        heads, relations, tails = (tf.constant(column) for column in triples.T)
        if side == "tail":
            queries, targets = model.tail_queries(heads, relations), tails
            known = self._lookup(self._known_tails, relations, heads)
        else:
            queries, targets = model.head_queries(relations, tails), heads
            known = self._lookup(self._known_heads, relations, tails)
        try:
            counts = rank_queries(queries, model.entities.embeddings.value, targets, known)
        except tf.errors.InvalidArgumentError as error:
            raise TrainingError(
                "The model gives scores that are NaN or infinite, so it has no ranks. "
                "Train it again with a smaller --learning_rate."
            ) from error
        return ranks_from_counts(*counts, self._tie_policy).numpy()

    def _lookup(
        self, index: KnownTriples, relations: tf.Tensor, entities: tf.Tensor
    ) -> tf.RaggedTensor:
        keys = tf.cast(relations, tf.int64) * self._graph.num_entities + tf.cast(entities, tf.int64)
        return lookup_known(index.keys, index.row_splits, index.entities, keys)


_SIDES = ("both", "head", "tail")
