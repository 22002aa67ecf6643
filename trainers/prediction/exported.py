"""Answers of a SavedModel, new entities included."""

import pathlib
from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import Any

import tensorflow as tf

from datasets.triples import COLUMNS
from quatre_tf.errors import DataError
from saved_models.tables import read_names
from trainers.prediction.formats import Block, Report
from trainers.prediction.predicting import Options
from trainers.prediction.questions import ASKED, Question, open_end

_OUTPUTS = {
    "entity": "entities",
    "label": "labels",
    "score": "scores",
    "probability": "probabilities",
}
_COLUMNS = (*COLUMNS, "rank", *_OUTPUTS)


class Exported:
    """An exported model, to be asked by names.

    Args:
        folder: A version, or the folder of the versions, of which the newest answers.

    Raises:
        DataError: There is no model.
    """

    def __init__(self, folder: pathlib.Path):
        version = _newest(folder)
        try:
            self._model = tf.saved_model.load(version)
            names = [read_names(version, kind) for kind in ("entity", "relation")]
        except (OSError, ValueError, tf.errors.OpError) as error:
            raise DataError(
                f"{version} holds no exported model, such as RUN_DIR/saved_model: {error}"
            ) from error
        self._entities, self._relations = names

    def question(self, head: str, relation: str, tail: str) -> Question:
        """Returns a question; one of head and tail is "?" or "", as for `make_question`.

        Raises:
            DataError: Neither or both are, or a name is unknown.
        """
        asked, given = open_end(head, tail)
        self._entities.id(given)
        self._relations.id(relation)
        return Question(relation, given, asked)

    def report(self, questions: Sequence[Question], options: Options, titles: bool) -> Report:
        """Returns the answers.

        Args:
            questions: Of `question`.
            options: `top_k`, `include_known` and `candidates` of them.
            titles: Whether a table says what was asked.
        """

        def blocks() -> Iterator[Block]:
            for question in questions:
                fields = question.fields
                title = f"({', '.join(name or ASKED for name in fields)})" if titles else ""
                yield Block(
                    title, dict(zip(COLUMNS, fields, strict=True)), self._rows(question, options)
                )

        return Report(_COLUMNS, blocks(), options.note(calibrated=True, num_entities=None))

    def _rows(self, question: Question, options: Options) -> list[dict[str, Any]]:
        names = dict(zip(COLUMNS, question.fields, strict=True))
        del names[question.asked]
        answer = getattr(self._model, f"predict_{question.asked}s")(
            **{place: tf.constant([name]) for place, name in names.items()},
            top_k=tf.constant(options.top_k),
            filtered=tf.constant(not options.include_known),
            type_constrained=tf.constant(options.candidates == "seen"),
        )
        columns = [
            [_plain(cell) for cell in answer[output][0].numpy().tolist()]
            if output in answer
            else repeat("")
            for output in _OUTPUTS.values()
        ]
        rows = [dict(zip(_OUTPUTS, cells, strict=False)) for cells in zip(*columns, strict=False)]
        # Where candidates run out, names are empty.
        return [{"rank": rank, **row} for rank, row in enumerate(rows, start=1) if row["entity"]]


def _newest(folder: pathlib.Path) -> pathlib.Path:
    versions = [path.parent for path in folder.glob("*/saved_model.pb")]
    numbered = [path for path in versions if path.name.isascii() and path.name.isdecimal()]
    return max(numbered, key=lambda path: int(path.name), default=folder)


def _plain(cell: Any) -> Any:
    return cell.decode() if isinstance(cell, bytes) else cell
