"""True and false triples of a split, and their scores."""

import numpy as np

from quatre_tf.data.graph import Graph
from quatre_tf.data.negatives import Corruption
from quatre_tf.errors import DataError
from quatre_tf.model import KGEModel
from quatre_tf.ranking.tile_runner import Progress, without_progress

# Floats of gathered heads and relations at once: 16 MB.
_FLOATS_AT_ONCE = 1 << 22
_SEED = 1


def scored_examples(
    model: KGEModel, graph: Graph, split: str, checked: bool, progress: Progress
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores the triples of a split and false ones.

    Args:
        model: The model.
        graph: The graph that it was trained on.
        split: The split.
        checked: Take the false ones from `Graph.negatives`. Otherwise one is drawn for each true
            triple: a coin chooses head or tail, and an entity takes its place, each with equal
            probability that makes no known triple. These are easier to recognize than real errors.
        progress: See `quatre_tf.ranking.evaluator.Evaluator`.

    Returns:
        Scores `[n]` float32, labels `[n]` bool (whether the triple is true), and relations `[n]`.

    Raises:
        DataError: The split is unknown or has no triples, a triple cannot be corrupted, or a score
            is not finite.
    """
    true = graph.split(split)
    if not len(true):
        raise DataError(f"The {split} split of {graph.name} has no triples.")
    if checked:
        false = graph.negatives[split]
    else:
        false = with_negatives(graph, split, np.arange(len(true)), 1, _SEED)[:, 1]
    triples = np.concatenate([true, false])
    labels = np.repeat([True, False], [len(true), len(false)])
    return finite_scores(model, triples, progress), labels, triples[:, 1]


def with_negatives(
    graph: Graph, split: str, rows: np.ndarray, num_negatives: int, seed: int
) -> np.ndarray:
    """Returns triples and drawn negatives of each: `[n, 1 + num_negatives, 3]`, the positive first.

    Args:
        graph: The graph.
        split: The split of the triples.
        rows: `[n]`, their positions in it.
        num_negatives: Negatives of each.
        seed: Of the drawing.

    Raises:
        DataError: A triple can be corrupted at neither side.
    """
    triples = graph.split(split)[rows]
    corruption = Corruption(graph, "uniform", "known", triples)
    sides, entities = np.random.default_rng(seed).random((2, len(rows), num_negatives))
    corrupted, tail_corrupted = (
        drawn.numpy() for drawn in corruption.corrupt(np.arange(len(rows)), sides, entities)
    )
    found = np.repeat(triples[:, np.newaxis], 1 + num_negatives, axis=1)
    for column, is_replaced in ((0, ~tail_corrupted), (2, tail_corrupted)):
        found[:, 1:, column][is_replaced] = corrupted[is_replaced]
    return found


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
