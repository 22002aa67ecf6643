"""Triples of entities that a graph does not have yet."""

import dataclasses

import numpy as np

from datasets.triples import COLUMNS
from quatre_tf.data.graph import Graph
from quatre_tf.data.vocabulary import Vocabulary
from quatre_tf.errors import DataError


def extend_graph(graph: Graph, triples: np.ndarray, origin: str) -> Graph:
    """Returns a graph with new entities and their triples.

    The ids of new entities follow those of the old ones, in the order of their first triple, so
    that every old id and every old triple stays as it is.

    Args:
        graph: The graph.
        triples: Names `[num_triples, 3]` (head, relation, tail); of head and tail one is new.
            Repeated triples count once.
        origin: What holds the triples, for messages: row i is called line i + 1 of it.

    Returns:
        A graph with longer `entities`; its `train` ends with the new triples.

    Raises:
        DataError: `ORIGIN:LINE: ...` for the first row whose relation is unknown, or of whose head
            and tail none is new or both are; or there is no row.
    """
    if not len(triples):
        raise DataError(f"{origin}: expected triples of new entities, received none.")
    known = {name: row for row, name in enumerate(graph.entities.names)}
    ends = triples[:, [0, 2]].tolist()
    is_new = np.array([[name not in known for name in pair] for pair in ends])
    _check_ends(is_new, ends, origin)
    _check_relations(graph.relations, triples[:, 1].tolist(), origin)
    fresh = dict.fromkeys(str(name) for name in triples[:, [0, 2]][is_new])
    entities = Vocabulary([*graph.entities.names, *fresh], graph.entities.kind)
    vocabularies = (entities, graph.relations, entities)
    columns = [v.ids(triples[:, c]) for c, v in enumerate(vocabularies)]
    added = np.array(list(dict.fromkeys(zip(*columns, strict=True))), np.int32)
    return dataclasses.replace(graph, entities=entities, train=np.concatenate([graph.train, added]))


def _check_ends(is_new: np.ndarray, ends: list[list[str]], origin: str) -> None:
    """Refuses the first row `[num_triples, 2]` that has not exactly one new end."""
    wrong = np.flatnonzero(is_new.sum(axis=1) != 1)
    if not len(wrong):
        return
    head, tail = ends[wrong[0]]
    where = f"{origin}:{wrong[0] + 1}: expected one entity that is new and one of the run, received"
    if is_new[wrong[0], 0]:
        raise DataError(
            f"{where} {head!r} and {tail!r}, which are both unknown to the run. Mend the name that "
            "should be known, or leave the line out: a new entity is placed by what it has to do "
            "with known ones."
        )
    raise DataError(
        f"{where} {head!r} and {tail!r}, which both exist. Leave the line out (facts about known "
        "entities need training), or give the new entity a name of its own."
    )


def _check_relations(relations: Vocabulary, names: list[str], origin: str) -> None:
    known = set(relations.names)
    for line, name in enumerate(names, start=1):
        if name not in known:
            close = " or ".join(map(repr, relations.suggest(name)))
            hint = f"Did you mean {close}?" if close else "A new relation needs training."
            raise DataError(
                f"{origin}:{line}: expected a {COLUMNS[1]} of the run, received {name!r}. {hint}"
            )
