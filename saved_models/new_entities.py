"""Adds entities to a trained model without training it again: one row each, from a few triples.

Every score is linear in the embedding e of each of its entities, so a triple of a new entity is a
linear observation `<x, e>` whose feature x is computed from the trained tables. The new row is the
posterior mean of Bayesian linear regression:

    e = m + C Xᵀ (X C Xᵀ + s² I)⁻¹ (y - X m)

    X  [k, 4n]  features of the triples
    m  [4n]     the mean row of the entities that train has in the same slots
    C  [4n, 4n] the covariance of the entity table
    y  [k]      target scores: what the tenth best trained entity scores with the same feature
    s²          1 % of the variance that C alone gives the scores, the mean of diag(X C Xᵀ)

The prior assumes that new entities are distributed like the trained ones. The covariance does the
work of negative triples: no trained entity goes far in a direction in which it would score well
where it should not, so neither does a new one. Nothing depends on the training loss or on the scale
of the scores. The system has k equations and is solved directly.

References:
    - Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, section 2.1
    - docs/new_entities.md has measurements.
"""

import dataclasses
from collections.abc import Iterator

import numpy as np
import tensorflow as tf

from datasets.triples import COLUMNS
from quatre_tf.data.graph import Graph
from quatre_tf.data.vocabulary import Vocabulary
from quatre_tf.errors import DataError
from quatre_tf.layers.embedding import without_initial_values
from quatre_tf.model import KGEModel
from quatre_tf.objectives.compiled_queries import end_gradients
from quatre_tf.ranking.tiles import top_k
from quatre_tf.runs.run import Run
from quatre_tf.similarities import DOT
from quatre_tf.validation import check_positive

TARGET_RANK = 10
_NOISE = 0.01


def add_entities(
    trained: Run,
    triples: np.ndarray,
    *,
    target_rank: int = TARGET_RANK,
    origin: str = "triples",
) -> Run:
    """Returns a model and a graph that have the new entities of the triples after the old ones.

    The tables of the model are the same except for the rows of the new entities, so all scores
    among old entities stay. The row of a new entity depends on its own triples alone.

    Args:
        trained: Model and graph; they are not changed. The folder of the new run is `extended` in
            theirs; `save` creates it.
        triples: Names `[num_triples, 3]` (head, relation, tail); of head and tail one is new.
        target_rank: The rank among the trained entities that a new entity should reach as the
            answer of its own triples. With a lower one it is found more often, both where it
            belongs and where it does not.
        origin: Where the triples come from, for messages.

    Raises:
        ValueError: `target_rank` is not a positive integer.
        DataError: The scores of the model are not linear in its entities, or a triple does not fit;
            see `extend_graph`.
    """
    check_positive("target_rank", target_rank)
    if not trained.model.score_function.multilinear:
        raise DataError(
            "New entities can be added where scores are linear in an entity's embedding, as in "
            "QuatRE, DistMult or ComplEx. "
            f"Received: {type(trained.model.score_function).__name__}. Train again with their "
            "triples."
        )
    graph = extend_graph(trained.graph, triples, origin)
    rows = _fit_rows(trained, graph.train[len(trained.graph.train) :], target_rank)
    return Run(extend_model(trained.model, rows), graph, trained.run_dir / "extended")


def posterior_mean(
    features: np.ndarray, targets: np.ndarray, mean: np.ndarray, covariance: np.ndarray
) -> np.ndarray:
    """Returns the row `[width]` of the formula above, in float64.

    It is `mean` if all entities score alike with the features.

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


def extend_graph(graph: Graph, triples: np.ndarray, origin: str) -> Graph:
    """Returns a graph with new entities and their triples.

    The ids of new entities follow the old ones in the order of their first triple, so every old id
    and every old triple stays as it is; so do negatives, as each new triple has a new entity.

    Args:
        graph: The graph.
        triples: Names `[num_triples, 3]` (head, relation, tail); of head and tail one is new.
            Repeated triples count once.
        origin: Where the triples come from, for messages.

    Returns:
        A graph with longer `entities`; its `train` ends with the new triples.

    Raises:
        DataError: The first row whose relation is unknown, or of whose head and tail none or both
            are new; or there are no rows.
    """
    if not len(triples):
        raise DataError(f"{origin}: expected triples of new entities, received none.")
    known, relations = set(graph.entities.names), set(graph.relations.names)
    for number, (head, relation, tail) in enumerate(triples.tolist(), start=1):
        # Not the line: files may have empty lines.
        where = f"{origin}, triple {number}"
        if (head in known) == (tail in known):
            raise _not_one_new(where, head, tail, head in known)
        if relation not in relations:
            raise _unknown_relation(where, relation, graph.relations)
    fresh = dict.fromkeys(name for name in triples[:, [0, 2]].flat if name not in known)
    entities = Vocabulary([*graph.entities.names, *fresh], graph.entities.kind)
    vocabularies = (entities, graph.relations, entities)
    columns = [v.ids(triples[:, c]) for c, v in enumerate(vocabularies)]
    added = np.array(list(dict.fromkeys(zip(*columns, strict=True))), np.int32)
    return dataclasses.replace(graph, entities=entities, train=np.concatenate([graph.train, added]))


def extend_model(model: KGEModel, rows: np.ndarray) -> KGEModel:
    """Returns a copy of the model with more entities."""
    num_entities = model.num_entities + len(rows)
    with without_initial_values():
        extended = type(model).from_config({**model.get_config(), "num_entities": num_entities})
    for new, old in zip(extended.weights, model.weights, strict=True):
        if old is model.entities.embeddings:
            extended.entities.replace(0, tf.convert_to_tensor(old))
            extended.entities.replace(model.num_entities, rows)
        else:
            new.assign(old)
    return extended


def _fit_rows(trained: Run, triples: np.ndarray, target_rank: int) -> np.ndarray:
    """Returns a row for each new entity of triples of ids: `[num_new, 4n]`."""
    num_old = trained.graph.num_entities
    # Read once: each read copies the table.
    entities = tf.convert_to_tensor(trained.model.entities.embeddings.value)
    table = np.asarray(entities)
    mean = table.mean(axis=0, dtype=np.float64)
    # Not numpy.cov, which makes two copies of the table.
    covariance = (table.T @ table) / num_old - np.outer(mean, mean)
    added = triples[:, [0, 2]].max(axis=1)
    rows = []
    for entity in range(num_old, added.max() + 1):
        given = triples[added == entity]
        features = _features(trained.model, given, num_old)
        best = top_k(DOT, entities, tf.constant(features), min(target_rank, num_old))[0]
        # The mean of all entities counts as one more slot: it steadies a row of a single triple.
        center = np.mean([mean, *_slot_means(trained.graph, table, given)], axis=0)
        rows.append(posterior_mean(features, best[:, -1].numpy(), center, covariance))
    return np.stack(rows).astype(table.dtype)


def _slot_means(graph: Graph, table: np.ndarray, triples: np.ndarray) -> Iterator[np.ndarray]:
    """Yields the mean row `[4n]` of the slot of the new entity in each triple, if train has any."""
    for _, relation, tail in triples.tolist():
        # The keys of the heads' index are tails, and the other way round.
        index = graph.index("head" if tail >= len(table) else "tail", "train")
        slot = index.of_relation(relation).keys
        if len(slot):
            yield table[slot].mean(axis=0)


def _features(model: KGEModel, triples: np.ndarray, num_old: int) -> np.ndarray:
    """Returns `[2k, width]`: the score of each triple is linear in the new entity twice.

    Once where the new entity is the answer, by the query of the other entity, and once where the
    other entity is the answer to its query. Without reciprocal relations the two are the same.
    """
    heads, relations, tails = triples.T
    new_head = heads >= num_old
    others = np.where(new_head, tails, heads)
    as_answer = tf.where(
        new_head[:, np.newaxis],
        model.head_queries(relations, others),
        model.tail_queries(others, relations),
    )
    if not model.reciprocal:
        return np.tile(as_answer.numpy(), (2, 1))
    function, rows = model.score_function, model.entities.lookup(others)
    folded = function.folded(np.where(new_head, relations, relations + model.num_relations))
    in_query, _ = end_gradients(function, tf.zeros_like(rows), rows, folded)
    return tf.concat([as_answer, in_query], axis=0).numpy()


def _not_one_new(where: str, head: str, tail: str, both_known: bool) -> DataError:
    received = f"{where}: expected one new and one known entity, received {head!r} and {tail!r}"
    if both_known:
        return DataError(
            f"{received}, which both exist. Leave the line out (facts about known entities need "
            "training), or give the new entity another name."
        )
    return DataError(
        f"{received}, which are both unknown to the run. Correct the name that should be known, or "
        "leave the line out: a new entity is placed by its relations to known ones."
    )


def _unknown_relation(where: str, name: str, relations: Vocabulary) -> DataError:
    close = " or ".join(map(repr, relations.suggest(name)))
    hint = f"Did you mean {close}?" if close else "A new relation needs training."
    return DataError(f"{where}: expected a {COLUMNS[1]} of the run, received {name!r}. {hint}")
