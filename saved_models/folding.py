"""Adds entities to a trained model without training it again: one row each, from a few triples.

Every score is linear in the embedding e of each of its entities, so a triple of a new entity is a
linear observation `<x, e>` with a feature x that the trained tables give. The row is the best guess
(posterior mean) of Bayesian linear regression:

    e = m + C Xᵀ (X C Xᵀ + s² I)⁻¹ (y - X m)

    X  [k, 4n]  features of the triples
    m  [4n]     the mean row of the entities that train has in the same slots
    C  [4n, 4n] the covariance of the entity table
    y  [k]      scores to reach: what the tenth best trained entity scores with the same feature
    s²          1 % of the variance that C alone gives the scores, the mean of diag(X C Xᵀ)

A new entity is thus taken to be drawn like the trained ones. The covariance does what negative
triples would: a direction in which no trained entity goes far, because it would score well where it
should not, is not one for a new entity either. No part depends on the loss of the training or on
the scale of its scores. The system has k equations, so it is solved and not descended.

References:
    - Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, section 2.1
    - docs/fold_in.md has what was compared, and measured.
"""

import numpy as np
import tensorflow as tf

from quatre_tf.data.candidate_sets import constraint
from quatre_tf.data.graph import Graph
from quatre_tf.errors import DataError
from quatre_tf.model import KGEModel
from quatre_tf.ranking.tiles import top_k
from quatre_tf.run import Run
from quatre_tf.similarities import DOT
from quatre_tf.validation import check_positive
from saved_models.new_triples import extend_graph

TARGET_RANK = 10
_NOISE = 0.01


def fold_in(
    trained: Run,
    triples: np.ndarray,
    *,
    target_rank: int = TARGET_RANK,
    origin: str = "triples",
) -> Run:
    """Returns a model and a graph with the new entities of the triples behind the old ones.

    Every table of the model is as it was but for the rows of the new entities, so that all scores
    among old entities stay. A new entity's row depends on its own triples alone.

    Args:
        trained: Model and graph; they are not changed.
        triples: Names `[num_triples, 3]` (head, relation, tail); of head and tail one is new.
        target_rank: The place that a new entity should reach among the trained ones where one of
            its triples is asked for. A lower one makes it bolder: better found where it belongs,
            and more often where it does not.
        origin: What holds the triples, for messages.

    Raises:
        ValueError: `target_rank` is not a positive integer.
        DataError: The scores of the model are not linear in its entities, or a triple does not fit;
            see `saved_models.new_triples.extend_graph`.
    """
    check_positive("target_rank", target_rank)
    _check_linear(trained.model)
    graph = extend_graph(trained.graph, triples, origin)
    rows = _fit_rows(trained, graph.train[len(trained.graph.train) :], target_rank)
    return Run(extend_model(trained.model, rows), graph, trained.run_dir)


def posterior_mean(
    features: np.ndarray, targets: np.ndarray, mean: np.ndarray, covariance: np.ndarray
) -> np.ndarray:
    """Returns the row `[width]` of the formula above, in float64.

    It is `mean` where the features say nothing: all entities score alike with them.

    Args:
        features: `[k, width]`.
        targets: `[k]`.
        mean: `[width]`.
        covariance: `[width, width]`.
    """
    gain = features @ covariance
    variance = gain @ features.T
    if not np.trace(variance) > 0.0:
        return mean
    noise = _NOISE * np.trace(variance) / len(features)
    residual = targets - features @ mean
    return mean + gain.T @ np.linalg.solve(variance + noise * np.eye(len(features)), residual)


def _fit_rows(trained: Run, triples: np.ndarray, target_rank: int) -> np.ndarray:
    """Returns a row for each new entity of triples of ids: `[num_new, 4n]`."""
    num_old = trained.graph.num_entities
    table = trained.model.entities.embeddings.numpy()
    mean = table.mean(axis=0, dtype=np.float64)
    # Not numpy.cov, which makes two copies of the table.
    covariance = (table.T @ table) / num_old - np.outer(mean, mean)
    slots = _SlotMeans(trained.graph, table)
    place = min(target_rank, num_old)
    newcomers = triples[:, [0, 2]].max(axis=1)
    triples = triples[np.argsort(newcomers, kind="stable")]
    rows = []
    for given in np.split(triples, np.cumsum(np.bincount(newcomers)[num_old:])[:-1]):
        features = _features(trained.model, given, num_old)
        targets = _best_scores(features, table, place)
        # The mean of all stands in as one more slot: it steadies what rests on one triple.
        center = np.mean([mean, *slots.means(given)], axis=0)
        rows.append(posterior_mean(features, targets, center, covariance))
    return np.stack(rows).astype(table.dtype)


def _check_linear(model: KGEModel) -> None:
    if not model.score_function.multilinear:
        raise DataError(
            "New entities can be added where scores are linear in an entity's embedding, as in "
            f"QuatRE, DistMult or ComplEx. Received: {type(model.score_function).__name__}. Train "
            "again with their triples."
        )


def _best_scores(features: np.ndarray, table: np.ndarray, place: int) -> np.ndarray:
    """Returns `[k]`, what the entity at this place scores with each feature."""
    return top_k(DOT, tf.constant(table), tf.constant(features), place)[0][:, -1].numpy()


def _features(model: KGEModel, triples: np.ndarray, num_old: int) -> np.ndarray:
    """Returns `[2k, width]`: the score of each triple is linear in the new entity twice.

    Once where the new entity is the answer, by the query of the other end, and once where the other
    end is the answer to its query. Without reciprocal relations the two are the same.
    """
    heads, relations, tails = triples.T
    new_head = heads >= num_old
    others = np.where(new_head, tails, heads)
    answered = tf.where(
        new_head[:, np.newaxis],
        model.head_queries(relations, others),
        model.tail_queries(others, relations),
    )
    if not model.reciprocal:
        return np.tile(answered.numpy(), (2, 1))
    function, rows = model.score_function, model.entities.lookup(others)
    folded = function.folded(np.where(new_head, relations, relations + model.num_relations))
    asked, _ = function.end_gradients(tf.zeros_like(rows), rows, folded)
    return tf.concat([answered, asked], axis=0).numpy()


class _SlotMeans:
    """Mean rows of the entities that train has as head or tail of a relation."""

    def __init__(self, graph: Graph, table: np.ndarray):
        self._table = table
        self._slots = [constraint(graph, "train_type_constrained", s) for s in ("head", "tail")]

    def means(self, triples: np.ndarray) -> list[np.ndarray]:
        """Returns `[4n]` for the slot of the new entity in each triple; empty slots have none."""
        members = [
            self._members(int(tail >= len(self._table)), relation)
            for _, relation, tail in triples.tolist()
        ]
        return [self._table[slot].mean(axis=0) for slot in members if len(slot)]

    def _members(self, side: int, relation: int) -> np.ndarray:
        keys, first = self._slots[side].keys, relation * len(self._table)
        start, limit = np.searchsorted(keys, [first, first + len(self._table)])
        return keys[start:limit] - first


def extend_model(model: KGEModel, rows: np.ndarray) -> KGEModel:
    """Returns a copy of the model with more entities."""
    num_entities = model.num_entities + len(rows)
    extended = type(model).from_config({**model.get_config(), "num_entities": num_entities})
    for new, old in zip(extended.weights, model.weights, strict=True):
        is_table = old is model.entities.embeddings
        new.assign(np.concatenate([old.numpy(), rows]) if is_table else old)
    return extended
