"""Completions of (head, relation, ?) and (?, relation, tail) by a trained model."""

import dataclasses

import tensorflow as tf

from datasets.graph import Graph
from saved_models.scorer import build_scorer
from saved_models.trained import Trained
from trainers import report


@dataclasses.dataclass(frozen=True)
class Completion:
    """One answer.

    Attributes:
        entity: Name of the entity put in.
        score: Higher is more plausible.
        label: Human label, empty when the data set has none.
        known: The split that holds the completed triple, empty when the graph does not know it.
    """

    entity: str
    score: float
    label: str
    known: str


def complete(
    trained: Trained,
    *,
    relation: str,
    head: str | None = None,
    tail: str | None = None,
    top_k: int = 10,
    include_known: bool = False,
) -> list[Completion]:
    """Returns the best completions, best first; exactly one of head and tail is given.

    Known are the facts of all three splits; they are left out unless `include_known` is set. The
    scorer that is exported for serving is asked, so the answers are those of a served model.

    Raises:
        UnknownNameError: A name is not of the graph; the message has the closest ones.
    """
    graph, scorer = trained.graph, build_scorer(trained.model, trained.graph)
    asked = {"head": head, "tail": tail}
    ((side, given),) = [(side, name) for side, name in asked.items() if name is not None]
    known = _known(graph, graph.relations.id(relation), graph.entities.id(given), side)
    predict = scorer.predict_tails if side == "head" else scorer.predict_heads
    answers = predict(
        **{side: tf.constant([given]), "relation": tf.constant([relation])},
        top_k=tf.constant(top_k),
        filtered=tf.constant(not include_known),
    )
    names = [name.decode("utf-8") for name in answers["entities"][0].numpy()]
    scores = answers["scores"][0].numpy()
    return [
        Completion(name, float(score), graph.labels.get(name, ""), known.get(name, ""))
        for name, score in zip(names, scores, strict=True)
        if name
    ]


def as_table(completions: list[Completion]) -> str:
    """Returns the completions as text; columns without content are left out."""
    rows = [["", "entity", "label", "score", "known from"]]
    for place, answer in enumerate(completions, start=1):
        score = f"{answer.score:.3f}"
        rows.append([str(place), answer.entity, answer.label, score, answer.known])
    columns = [c for c in zip(*rows, strict=True) if any(c[1:])]
    return report.table([list(row) for row in zip(*columns, strict=True)])


def _known(graph: Graph, relation: int, given: int, side: str) -> dict[str, str]:
    """Returns the split of each known answer, by its name."""
    given_column, asked_column = (0, 2) if side == "head" else (2, 0)
    known: dict[str, str] = {}
    for split in ("test", "valid", "train"):
        triples = graph.split(split)
        fits = (triples[:, 1] == relation) & (triples[:, given_column] == given)
        known |= dict.fromkeys(graph.entities.names[triples[fits, asked_column]], split)
    return known
