"""What a person sees of a new entity, to judge whether its embedding makes sense."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from quatre_tf.cosines import Cosines
from quatre_tf.data.graph import Graph
from quatre_tf.run import Run
from saved_models.scorer import Scorer

_MAX_NEAREST = 5
_MAX_TRIPLES = 10


def describe(folded: Run, old: Graph, scorer: Scorer) -> str:
    """Returns a paragraph for each new entity.

    It names the trained entities whose embeddings point in the most similar direction (cosine), and
    the filtered rank of both ends of the triples that were given: among all entities, other known
    answers left out.

    Args:
        folded: What `saved_models.folding.fold_in` returned.
        old: The graph before.
        scorer: The scorer of `folded`.
    """
    graph, num_old = folded.graph, old.num_entities
    triples = graph.train[len(old.train) :]
    newcomers = triples[:, [0, 2]].max(axis=1)
    names = graph.entities.names
    cosines = Cosines(folded.model.entities.embeddings.numpy(), slice(num_old))
    paragraphs = []
    for entity in range(num_old, graph.num_entities):
        given = triples[newcomers == entity]
        count = f"{len(given)} triple{'s' if len(given) > 1 else ''}"
        nearest = cosines.nearest(np.array([entity]), _MAX_NEAREST)
        shown = ", ".join(
            f"{_shown(graph, place)} ({cosine:.2f})"
            for cosine, place in zip(*map(np.ravel, nearest), strict=True)
        )
        lines = [f"{names[entity]}: {count}", f"  nearest: {shown}"]
        paragraphs.append("\n".join([*lines, *_ranks(graph, given, scorer)]))
    return "\n".join(paragraphs)


def _ranks(graph: Graph, triples: np.ndarray, scorer: Scorer) -> list[str]:
    shown = triples[:_MAX_TRIPLES]
    heads, relations, tails = shown.T
    asked = {
        "head": tf.constant(graph.entities.names[heads]),
        "relation": tf.constant(graph.relations.names[relations]),
        "tail": tf.constant(graph.entities.names[tails]),
    }
    ranks = [rank(**asked)["rank"].numpy() for rank in (scorer.rank_heads, scorer.rank_tails)]
    lines = [
        f"  rank of head {head:6g}, of tail {tail:6g}:  {_as_text(graph, triple)}"
        for head, tail, triple in zip(*ranks, shown.tolist(), strict=True)
    ]
    hidden = len(triples) - len(shown)
    return [*lines, f"  and {hidden} more"] if hidden else lines


def _as_text(graph: Graph, triple: Sequence[int]) -> str:
    head, relation, tail = triple
    return f"{_shown(graph, head)}  {graph.relations.names[relation]}  {_shown(graph, tail)}"


def _shown(graph: Graph, entity: int) -> str:
    """Returns the label of an entity, or its name where it has none, without line breaks."""
    name = graph.entities.names[entity]
    return " ".join(graph.labels.get(name, name).split())
