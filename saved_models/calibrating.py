"""Fits the calibration of a run on its validation split.

A positive is a triple of the split. Its negatives are drawn alike: a coin chooses head or tail, and
an entity takes its place, every one as likely that makes no triple of any split. Where every entity
would make one, the other side is replaced. `quatre_tf.data.negatives` shows how this is exact.
"""

import sys

import numpy as np

from datasets.progress import progress
from quatre_tf.atomic_files import whole_file
from quatre_tf.calibration.platt import fit_curves
from quatre_tf.classification.evaluating import validation_thresholds
from quatre_tf.classification.examples import finite_scores, with_negatives
from quatre_tf.data.graph import Graph, read_array
from quatre_tf.errors import DataError
from quatre_tf.model import KGEModel
from quatre_tf.paths import CALIBRATION
from quatre_tf.runs.run import Run

NUM_NEGATIVES = 10
SEED = 1


def calibration_of(trained: Run) -> np.ndarray | None:
    """Returns the calibration that the run holds, or else a new one, which is not written.

    Returns:
        Curves of `fit_curves`; None where nothing can be fitted: standard error then says why.

    Raises:
        DataError: The file is damaged.
    """
    path = trained.run_dir / CALIBRATION
    if not path.exists():
        return _fit_or_note(trained)
    try:
        curves = read_array(path)
        if curves.shape != (trained.graph.num_relations, 2) or not np.isfinite(curves).all():
            raise ValueError("expected finite numbers, two for each relation")
        return curves
    except (ValueError, TypeError) as error:
        raise DataError(
            f"Cannot read the calibration {path}: {error!r}. Delete it: without it, an export fits "
            "a new one."
        ) from error


def calibrate(trained: Run) -> np.ndarray | None:
    """Fits a calibration and writes it to the run; None as `calibration_of`."""
    curves = _fit_or_note(trained)
    if curves is not None:
        with whole_file(trained.run_dir / CALIBRATION, binary=True) as file:
            np.save(file, curves)
    return curves


def thresholds_of(trained: Run) -> np.ndarray | None:
    """Returns the thresholds of `Scorer` from the validation split, or None as `calibration_of`."""
    try:
        checked = "valid" in trained.graph.negatives
        return validation_thresholds(trained.model, trained.graph, checked, progress)
    except DataError as error:
        print(f"No thresholds, so all are 0: {error}", file=sys.stderr)
        return None


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
    found = with_negatives(graph, split, np.arange(len(triples)), NUM_NEGATIVES, SEED)
    scores = finite_scores(model, found.reshape(-1, 3), progress)
    return scores.astype(np.float64).reshape(len(triples), -1)


def _fit_or_note(trained: Run) -> np.ndarray | None:
    graph = trained.graph
    try:
        scores = labelled_scores(trained.model, graph, "valid")
    except DataError as error:
        print(f"No calibrated probabilities: {error}", file=sys.stderr)
        return None
    return fit_curves(scores, graph.valid[:, 1], graph.num_relations)
