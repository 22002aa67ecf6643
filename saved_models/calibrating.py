"""Fits the calibration of a run on its validation split.

A positive is a triple of the split. Its negatives are drawn alike: a coin chooses head or tail, and
an entity takes its place, every one as likely that makes no triple of any split. Where every entity
would make one, the other side is replaced. `quatre_tf.data.negatives` shows how this is exact.
"""

import sys
from typing import Any

import numpy as np

from datasets.progress import progress
from quatre_tf.data.encoding import SPLITS
from quatre_tf.data.graph import Graph
from quatre_tf.data.negatives import Corruption
from quatre_tf.errors import DataError
from quatre_tf.model import KGEModel
from quatre_tf.runs.run import Run
from saved_models import platt, reliability
from saved_models.calibration import Calibration, Fitted, load_calibration, save_calibration

NUM_NEGATIVES = 10
SEED = 1
_FOLDS = 5
# Floats of gathered heads, and of tails, at once: 16 MB each.
_FLOATS_AT_ONCE = 1 << 22


def calibration_of(trained: Run) -> Calibration | None:
    """Returns the calibration that the run holds, or else a new one, which is not written.

    Returns:
        None where `fit_calibration` cannot fit one; standard error then says why.

    Raises:
        DataError: calibration.json is damaged.
    """
    stored = load_calibration(trained.run_dir, trained.graph.relations)
    if stored is not None:
        return stored
    fitted = _fit_or_note(trained)
    return None if fitted is None else Calibration(fitted.curves)


def calibrate(trained: Run) -> Calibration | None:
    """Fits a calibration and writes it to the run; None as `calibration_of`."""
    fitted = _fit_or_note(trained)
    if fitted is None:
        return None
    save_calibration(fitted, trained.run_dir, trained.graph.relations)
    return Calibration(fitted.curves)


def fit_calibration(model: KGEModel, graph: Graph) -> Fitted:
    """Fits a curve per relation on the validation split.

    Raises:
        DataError: There is nothing to fit: see `labelled_scores`.
    """
    scores, relations = labelled_scores(model, graph, "valid"), graph.valid[:, 1]
    return Fitted(
        curves=platt.fit_curves(scores, relations, graph.num_relations),
        positives=np.bincount(relations, minlength=graph.num_relations),
        num_negatives=NUM_NEGATIVES,
        seed=SEED,
        cross_validation=cross_validate(scores, relations, graph.num_relations),
    )


def labelled_scores(model: KGEModel, graph: Graph, split: str) -> np.ndarray:
    """Returns the scores of the triples of a split, and of negatives of each.

    Returns:
        `[n, 1 + NUM_NEGATIVES]` float64: of the positive, then of its negatives.

    Raises:
        DataError: The split has no triples, a known triple has no negatives, or a score is not
            finite.
    """
    triples = graph.split(split)
    if not len(triples):
        raise DataError(f"The {split} split of {graph.name} has no triples.")
    rows = np.arange(len(triples))
    heads, relations, tails = with_negatives(graph, split, rows, NUM_NEGATIVES, SEED)
    columns = heads.reshape(-1), relations.reshape(-1), tails.reshape(-1)
    batch = max(1, _FLOATS_AT_ONCE // model.score_function.entity_width)
    scores = [
        model.score_triples(*(ids[start : start + batch] for ids in columns)).numpy()
        for start in progress(range(0, heads.size, batch), "Calibrating")
    ]
    found = np.concatenate(scores).astype(np.float64).reshape(heads.shape)
    if not np.isfinite(found).all():
        raise DataError("Expected finite scores, received NaN or infinite ones.")
    return found


def cross_validate(scores: np.ndarray, relations: np.ndarray, num_relations: int) -> dict[str, Any]:
    """Returns the quality of probabilities for triples that their curves were not fitted on.

    Args:
        scores: As of `labelled_scores`.
        relations: `[n]` ids.
        num_relations: Number of relations.

    Returns:
        `{"folds", "logistic", "calibrated"}`: `reliability.quality` of the plain logistic function
        and of the curves. Fewer folds where there are fewer triples; of a single triple, nothing.
    """
    folds = min(_FOLDS, len(scores))
    if folds < 2:
        return {"folds": 0}
    calibrated = np.empty_like(scores)
    fold = np.random.default_rng(SEED).permutation(len(scores)) % folds
    for number in range(folds):
        out = fold == number
        curves = platt.fit_curves(scores[~out], relations[~out], num_relations)
        calibrated[out] = curves.probabilities(scores[out], relations[out])
    return {
        "folds": folds,
        "logistic": reliability.quality(platt.logistic(scores)),
        "calibrated": reliability.quality(calibrated),
    }


def with_negatives(
    graph: Graph, split: str, rows: np.ndarray, num_negatives: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns triples and their negatives.

    Args:
        graph: The graph.
        split: The split of the triples.
        rows: `[n]`, their positions in it.
        num_negatives: Negatives of each.
        seed: Of the drawing.

    Returns:
        Heads, relations and tails, each `[n, 1 + num_negatives]`, the positive first.

    Raises:
        DataError: A known triple can be corrupted at neither side.
    """
    first = sum(len(graph.split(name)) for name in SPLITS[: SPLITS.index(split)])
    corruption = Corruption(graph, "uniform", "known")
    sides, entities = np.random.default_rng(seed).random((2, len(rows), num_negatives))
    corrupted, tail_corrupted = (
        drawn.numpy() for drawn in corruption.corrupt(first + rows, sides, entities)
    )
    heads, relations, tails = (column[:, np.newaxis] for column in graph.split(split)[rows].T)
    return (
        np.concatenate([heads, np.where(tail_corrupted, heads, corrupted)], axis=1),
        np.tile(relations, (1, 1 + num_negatives)),
        np.concatenate([tails, np.where(tail_corrupted, corrupted, tails)], axis=1),
    )


def _fit_or_note(trained: Run) -> Fitted | None:
    try:
        return fit_calibration(trained.model, trained.graph)
    except DataError as error:
        print(f"No calibrated probabilities: {error}", file=sys.stderr)
        return None
