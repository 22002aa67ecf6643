"""True and false triples of a split, and their scores."""

import dataclasses

import numpy as np

from quatre_tf.data.graph import Graph
from quatre_tf.data.negatives import Corruption
from quatre_tf.errors import DataError
from quatre_tf.model import KGEModel
from quatre_tf.ranking.tile_runner import Progress, without_progress

# Floats of gathered heads and relations at once: 16 MB.
_FLOATS_AT_ONCE = 1 << 22


@dataclasses.dataclass(frozen=True, eq=False)
class Examples:
    """Labelled triples.

    Attributes:
        triples: `[n, 3]` ids.
        labels: `[n]` bool, whether they are true.
    """

    triples: np.ndarray
    labels: np.ndarray


def examples_of(graph: Graph, split: str, checked: bool, seed: int = 1) -> Examples:
    """Returns the triples of a split and false ones.

    Args:
        graph: The graph.
        split: The split.
        checked: Take the false ones from `Graph.negatives`. Otherwise one is drawn for each true
            triple: a coin chooses head or tail, and an entity takes its place, each with equal
            probability that makes no known triple. These are easier to recognize than real errors.
        seed: Of the drawing.

    Raises:
        DataError: The split is unknown or has no triples, or a triple cannot be corrupted.
    """
    true = graph.split(split)
    if not len(true):
        raise DataError(f"The {split} split of {graph.name} has no triples.")
    if checked:
        false = graph.negatives[split]
    else:
        columns = with_negatives(graph, split, np.arange(len(true)), 1, seed)
        false = np.stack([column[:, 1] for column in columns], axis=1)
    labels = np.repeat([True, False], [len(true), len(false)])
    return Examples(np.concatenate([true, false]), labels)


def with_negatives(
    graph: Graph, split: str, rows: np.ndarray, num_negatives: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns triples and drawn negatives of each.

    Args:
        graph: The graph.
        split: The split of the triples.
        rows: `[n]`, their positions in it.
        num_negatives: Negatives of each.
        seed: Of the drawing.

    Returns:
        Heads, relations and tails, each `[n, 1 + num_negatives]`, the positive first.

    Raises:
        DataError: A triple can be corrupted at neither side.
    """
    triples = graph.split(split)[rows]
    corruption = Corruption(graph, "uniform", "known", triples)
    sides, entities = np.random.default_rng(seed).random((2, len(rows), num_negatives))
    corrupted, tail_corrupted = (
        drawn.numpy() for drawn in corruption.corrupt(np.arange(len(rows)), sides, entities)
    )
    heads, relations, tails = (column[:, np.newaxis] for column in triples.T)
    return (
        np.concatenate([heads, np.where(tail_corrupted, heads, corrupted)], axis=1),
        np.tile(relations, (1, 1 + num_negatives)),
        np.concatenate([tails, np.where(tail_corrupted, corrupted, tails)], axis=1),
    )


def finite_scores(
    model: KGEModel, triples: np.ndarray, progress: Progress = without_progress
) -> np.ndarray:
    """Returns the scores `[n]` float32 of triples `[n, 3]`.

    Raises:
        DataError: A score is NaN or infinite.
    """
    function = model.score_function
    widths = map(function.width_of, function.relation_tables().values())
    batch = max(1, _FLOATS_AT_ONCE // (function.entity_width + sum(widths)))
    scores = [
        model.score_triples(*triples[start : start + batch].T).numpy()
        for start in progress(range(0, len(triples), batch), "Scoring")
    ]
    # As served: also a model that scores in float64.
    found = np.concatenate(scores).astype(np.float32)
    if not np.isfinite(found).all():
        raise DataError("Expected finite scores, received NaN or infinite ones.")
    return found
