"""Columns of the printed answers (docs/predicting.md)."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from datasets.triples import COLUMNS
from quatre_tf.calibration.answer_probabilities import AnswerProbabilities
from quatre_tf.data.name_lookup import NameLookup
from quatre_tf.runs.run import Run
from saved_models.calibrating import calibration_of
from trainers.prediction.explaining import Explainer, named_ends
from trainers.prediction.formats import Block, Report
from trainers.prediction.missing_facts import RankedFacts, missing_facts
from trainers.prediction.predicting import PROBABILITIES, Options, Predictor
from trainers.prediction.questions import Question, QuestionReader

_NUMBERS = ("score", "probability")
_ANSWER = (*COLUMNS, "rank", "entity", "label", *_NUMBERS, "known_from", "because")
_MISSING = ("relation", "rank", "head", "head_label", "tail", "tail_label", *_NUMBERS, "because")


def report_answers(
    trained: Run,
    questions: Sequence[Question],
    options: Options,
    titles: bool,
    predictor: Predictor | None = None,
) -> Report:
    """Returns the answers to questions; they are computed as they are written.

    Args:
        trained: The run.
        questions: What to ask.
        options: What to answer.
        titles: Whether a table says what was asked.
        predictor: One that was made with these options; None: a new one.

    Raises:
        DataError: See `Predictor`.
    """
    predictor = predictor or Predictor(trained, options)
    entities = QuestionReader(trained.graph).entities

    def blocks() -> Iterator[Block]:
        for question, answers in zip(questions, predictor.answers(questions), strict=True):
            asked = dict(zip(COLUMNS, question.fields, strict=True))
            rows = [{"rank": rank, **answer} for rank, answer in enumerate(answers, start=1)]
            yield Block(_title(question, entities) if titles else "", asked, rows)

    note = options.note(predictor.calibrated, trained.graph.num_entities)
    return Report(_columns(_ANSWER, predictor.calibrated, options), blocks(), note)


def report_missing(trained: Run, relation: str, options: Options) -> Report:
    """Returns the most plausible facts of a relation that the graph lacks.

    Args:
        trained: The run.
        relation: Name of the relation.
        options: Which of them; known facts are never among them.

    Raises:
        DataError: The relation is unknown, or the model holds NaN or infinite values.
    """
    model, graph = trained.model, trained.graph
    reader = QuestionReader(graph)
    relation = reader.relations.name(relation)
    wanted = graph.relations.id(relation), options.top_k, options.candidates
    found = missing_facts(model, graph, *wanted)
    rows: list[dict[str, Any]] = [
        {"rank": rank, **named_ends(graph, head, tail), "score": score}
        for rank, ((head, _, tail), score) in enumerate(
            zip(found.triples, found.scores.tolist(), strict=True), start=1
        )
    ]
    probabilities = _probabilities(trained, found, options)
    for row, probability in zip(rows, probabilities, strict=False):
        row["probability"] = probability
    calibrated = len(probabilities) == len(rows)
    if options.explain:
        explained = Explainer(model, graph).explain("tail", found.triples, options.explain)
        for row, because in zip(rows, explained, strict=True):
            row["because"] = because
    columns = _columns(_MISSING, calibrated, options)
    note = PROBABILITIES[options.probability].format(graph.num_entities) if calibrated else ""
    return Report(columns, [Block("", {"relation": relation}, rows)], note)


def _probabilities(trained: Run, found: RankedFacts, options: Options) -> list[float]:
    """Returns those of facts, or none if the run cannot be calibrated."""
    relations = found.triples[:, 1]
    if options.probability == "answer":
        of_answers = AnswerProbabilities(trained.model, trained.graph)
        return of_answers.probabilities("tail", relations, found.scores).tolist()
    calibration = calibration_of(trained)
    if calibration is None:
        return []
    return calibration.probabilities(found.scores[:, np.newaxis], relations)[:, 0].tolist()


def _columns(names: Sequence[str], calibrated: bool, options: Options) -> list[str]:
    without = {"probability": not calibrated, "because": not options.explain}
    return [name for name in names if not without.get(name)]


def _title(question: Question, entities: NameLookup) -> str:
    fields = question.fields
    ends = [entities.shown(end) if end == question.given else end for end in fields[::2]]
    return f"({ends[0]}, {question.relation}, {ends[1]})"
