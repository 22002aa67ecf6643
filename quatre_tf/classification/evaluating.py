"""Evaluation of triple classification."""

from collections.abc import Iterator

import numpy as np

from quatre_tf.classification.examples import scored_examples
from quatre_tf.classification.figures import LEVELS, Figure, curve_figures, threshold_figures
from quatre_tf.classification.thresholds import fit_thresholds
from quatre_tf.data.graph import Graph
from quatre_tf.model import KGEModel
from quatre_tf.ranking.results import Results, Row
from quatre_tf.ranking.tile_runner import Progress, without_progress

# Where the false triples come from: the data set, or a random draw, which makes them easier.
NEGATIVE_SOURCES = ("checked_negatives", "drawn_negatives")
# The horizontal axis of each curve.
_LEVEL_OF = {"roc": "false_positive_rate", "precision_recall": "recall"}


def validation_thresholds(
    model: KGEModel, graph: Graph, checked: bool, progress: Progress = without_progress
) -> np.ndarray:
    """Returns the thresholds `[num_relations]` of the validation split; see `fit_thresholds`.

    Args:
        model: The model.
        graph: The graph that it was trained on.
        checked: See `scored_examples`.
        progress: See `quatre_tf.ranking.evaluator.Evaluator`.

    Raises:
        DataError: See `scored_examples`.
    """
    examples = scored_examples(model, graph, "valid", checked, progress)
    return fit_thresholds(*examples, graph.num_relations)


def evaluate_classification(
    model: KGEModel,
    graph: Graph,
    split: str = "test",
    *,
    seed: int = 1,
    progress: Progress = without_progress,
) -> Results:
    """Classifies the triples of a split with the thresholds of the validation split.

    The false triples of both splits come from the data set if it has some for each, and are drawn
    otherwise.

    Args:
        model: The model.
        graph: The graph that it was trained on.
        split: `"train"`, `"valid"` or `"test"`. The thresholds were chosen on `"valid"`.
        seed: Seed of the resamples.
        progress: See `quatre_tf.ranking.evaluator.Evaluator`.

    Returns:
        Accuracy, F1, precision, recall, ROC AUC and average precision: of the split with 95 %
        bootstrap intervals, and of each relation. The ROC and precision-recall curves have a row
        per level. A relation without true or without false triples has only an accuracy. The
        column `candidates` is one of `NEGATIVE_SOURCES`.

    Raises:
        DataError: See `scored_examples`.
    """
    checked = {"valid", split} <= graph.negatives.keys()
    thresholds = validation_thresholds(model, graph, checked, progress)
    scores, is_true, relations = scored_examples(model, graph, split, checked, progress)
    predicted = scores >= thresholds[relations]
    negatives = NEGATIVE_SOURCES[0 if checked else 1]

    def rows_of(chosen: np.ndarray, relation: str | None = None) -> Iterator[Row]:
        place = (split, "", negatives, "", int(chosen.sum()))
        group, resampling = (("", ""), seed) if relation is None else (("relation", relation), None)
        labels = is_true[chosen]
        figures = threshold_figures(labels, predicted[chosen], resampling)
        curves: dict[str, list[Figure]] = {}
        if 0 < labels.sum() < len(labels):
            areas, curves = curve_figures(labels, scores[chosen], resampling)
            figures |= areas
        else:
            figures = {"accuracy": figures["accuracy"]}
        for name, figure in figures.items():
            yield Row(*place, name, *figure, *group)
        if relation is None:
            for name, by_level in curves.items():
                for level, figure in zip(LEVELS, by_level, strict=True):
                    yield Row(*place, name, *figure, _LEVEL_OF[name], f"{level:.2f}")

    rows = list(rows_of(np.ones(len(scores), bool)))
    frequency = np.bincount(relations, minlength=graph.num_relations)
    for relation in np.argsort(-frequency, kind="stable"):
        if frequency[relation]:
            rows += rows_of(relations == relation, str(graph.relations.names[relation]))
    return Results(split, len(scores), "", tuple(rows))
