"""Converts the names in questions and triples to ids."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from quatre_tf.data.graph import Graph
from quatre_tf.data.name_lookup import NameLookup
from quatre_tf.errors import DataError

# A name, or one for each question.
Names: TypeAlias = str | Sequence[str]


def question_ids(
    graph: Graph, head: Names | None, relation: Names | None, tail: Names | None
) -> tuple[str, np.ndarray, bool]:
    """Returns the side to predict, triples `[n, 3]`, and whether it is a single question.

    The ids on the side to predict mean nothing.
    """
    if relation is None or (head is None) == (tail is None):
        names = {"head": head, "relation": relation, "tail": tail}
        given = " and ".join(name for name, value in names.items() if value is not None)
        raise DataError(
            "Expected `relation` and exactly one of `head` and `tail`. "
            f"Received: {given or 'none of them'}."
        )
    side, entity = ("tail", head) if tail is None else ("head", tail)
    columns = [np.asarray(names, object) for names in (entity, relation)]
    try:
        entities, relations = np.broadcast_arrays(*map(np.atleast_1d, columns))
    except ValueError as error:
        raise DataError(
            "Expected as many relations as entities, or a single one. "
            f"Received: {columns[0].size} entities, {columns[1].size} relations."
        ) from error
    ids = graph.entity_lookup.ids(entities.tolist())
    triples = np.stack([ids, graph.relation_lookup.ids(relations.tolist()), ids], axis=1)
    return side, triples, not any(column.ndim for column in columns)


def triple_ids(graph: Graph, triples: Any) -> np.ndarray:
    """Returns ids `[n, 3]` int32 of triples of names."""
    names = np.asarray(triples, object)
    if not names.size:
        names = names.reshape(0, 3)
    if names.ndim != 2 or names.shape[1] != 3:
        raise DataError(
            "Expected triples [n, 3] of names: head, relation, tail. "
            f"Received: {list(names.shape)}."
        )
    heads, relations, tails = names.T.tolist()
    ids = graph.entity_lookup.ids(heads), graph.relation_lookup.ids(relations)
    return np.stack([*ids, graph.entity_lookup.ids(tails)], axis=1)


def ids_or_all(lookup: NameLookup, names: Names | None) -> Any:
    """Returns what selects the rows of names: all of them, one, or ids `[n]`."""
    if names is None:
        return slice(None)
    return lookup.ids([names])[0] if isinstance(names, str) else lookup.ids(names)
