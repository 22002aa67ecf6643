"""Columns of the printed answers (docs/predicting.md)."""

from collections.abc import Iterator, Sequence
from typing import Any

from datasets.triples import COLUMNS
from quatre_tf.data.name_lookup import NameLookup
from trainers.prediction.formats import Block, Report
from trainers.prediction.predicting import PROBABILITIES, Predictor
from trainers.prediction.questions import Question

_NUMBERS = ("score", "probability")
_ANSWER = (*COLUMNS, "rank", "entity", "label", *_NUMBERS, "known_from", "because")
_MISSING = ("relation", "rank", "head", "head_label", "tail", "tail_label", *_NUMBERS, "because")


def report_answers(predictor: Predictor, questions: Sequence[Question], titles: bool) -> Report:
    """Returns the answers to questions; they are computed as they are written.

    Args:
        predictor: What answers.
        questions: What to ask.
        titles: Whether a table says what was asked.
    """
    graph = predictor.graph

    def blocks() -> Iterator[Block]:
        for question, answers in zip(questions, predictor.answers(questions), strict=True):
            asked = dict(zip(COLUMNS, question.fields, strict=True))
            title = _title(question, graph.entity_lookup) if titles else ""
            yield Block(title, asked, _ranked(answers))

    note = predictor.options.note(predictor.calibrated, graph.num_entities)
    return Report(_columns(_ANSWER, predictor), blocks(), note)


def report_missing(predictor: Predictor, relation: str) -> Report:
    """Returns the most plausible facts of a relation that the graph lacks.

    Args:
        predictor: Whose options say which of them; known facts are never among them.
        relation: The relation as it was typed.

    Raises:
        DataError: The relation is unknown, or the model holds NaN or infinite values.
    """
    relation = predictor.graph.relation_lookup.name(relation)
    rows = _ranked(predictor.missing(relation))
    meaning = PROBABILITIES[predictor.options.probability].format(predictor.graph.num_entities)
    note = meaning if predictor.calibrated else ""
    return Report(_columns(_MISSING, predictor), [Block("", {"relation": relation}, rows)], note)


def _ranked(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"rank": rank, **row} for rank, row in enumerate(rows, start=1)]


def _columns(names: Sequence[str], predictor: Predictor) -> list[str]:
    without = {"probability": not predictor.calibrated, "because": not predictor.options.explain}
    return [name for name in names if not without.get(name)]


def _title(question: Question, entities: NameLookup) -> str:
    fields = question.fields
    ends = [entities.shown(end) if end == question.given else end for end in fields[::2]]
    return f"({ends[0]}, {question.relation}, {ends[1]})"
