"""Fits the calibration of a run on its validation split.

A positive is a triple of the split. Its negatives are drawn alike: a coin chooses head or tail, and
an entity takes its place, every one as likely that makes no triple of any split. Where every entity
would make one, the other side is replaced. `quatre_tf.data.negatives` shows how this is exact.
"""

import sys
from typing import Any

import numpy as np

from datasets.progress import progress
from quatre_tf.calibration import platt
from quatre_tf.classification.evaluating import validation_thresholds
from quatre_tf.classification.examples import finite_scores, with_negatives
from quatre_tf.data.graph import Graph
from quatre_tf.errors import DataError
from quatre_tf.model import KGEModel
from quatre_tf.runs.run import Run
from saved_models import reliability
from saved_models.calibration import Calibration, Fitted, load_calibration, save_calibration

NUM_NEGATIVES = 10
SEED = 1
_FOLDS = 5


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


def thresholds_of(trained: Run) -> np.ndarray | None:
    """Returns the thresholds of `Scorer` from the validation split, or None as `calibration_of`."""
    try:
        checked = "valid" in trained.graph.negatives
        return validation_thresholds(trained.model, trained.graph, checked, progress).relations
    except DataError as error:
        print(f"No thresholds, so all are 0: {error}", file=sys.stderr)
        return None


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
    columns = with_negatives(graph, split, np.arange(len(triples)), NUM_NEGATIVES, SEED)
    shape = columns[0].shape
    flat = np.stack([column.reshape(-1) for column in columns], axis=1)
    return finite_scores(model, flat, progress).astype(np.float64).reshape(shape)


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


def _fit_or_note(trained: Run) -> Fitted | None:
    try:
        return fit_calibration(trained.model, trained.graph)
    except DataError as error:
        print(f"No calibrated probabilities: {error}", file=sys.stderr)
        return None
