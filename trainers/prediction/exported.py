"""Answers of a SavedModel, new entities included."""

import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
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
# Questions answered at once: more of them are answered no faster.
_BATCH = 256


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
        self._entity_names = frozenset(self._entities.names)

    def question(self, head: str, relation: str, tail: str) -> Question:
        """Returns a question; one of head and tail is "?" or "", as for `make_question`.

        Raises:
            DataError: Neither or both are, or a name is unknown.
        """
        asked, given = open_end(head, tail)
        if given not in self._entity_names:
            # Raises, with suggestions; it reads all names.
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
            for start in range(0, len(questions), _BATCH):
                batch = questions[start : start + _BATCH]
                for question, rows in zip(batch, self._answers(batch, options), strict=True):
                    fields = question.fields
                    title = f"({', '.join(name or ASKED for name in fields)})" if titles else ""
                    yield Block(title, dict(zip(COLUMNS, fields, strict=True)), rows)

        return Report(_COLUMNS, blocks(), options.note(calibrated=True, num_entities=None))

    def _answers(
        self, questions: Sequence[Question], options: Options
    ) -> list[list[dict[str, Any]]]:
        """Returns the rows of each question; those that ask for one side are answered at once."""
        found: list[list[dict[str, Any]]] = [[] for _ in questions]
        for asked, role in (("tail", "head"), ("head", "tail")):
            places = [place for place, question in enumerate(questions) if question.asked == asked]
            if not places:
                continue
            answer = getattr(self._model, f"predict_{asked}s")(
                **{role: tf.constant([questions[place].given for place in places])},
                relation=tf.constant([questions[place].relation for place in places]),
                top_k=tf.constant(options.top_k),
                filtered=tf.constant(not options.include_known),
                type_constrained=tf.constant(options.candidates == "seen"),
            )
            cells = {
                name: answer[output].numpy()
                for name, output in _OUTPUTS.items()
                if output in answer
            }
            for row, place in enumerate(places):
                found[place] = _rows({name: values[row] for name, values in cells.items()})
        return found


def _rows(columns: Mapping[str, np.ndarray]) -> list[dict[str, Any]]:
    """Returns the answers to a question; where candidates run out, names are empty."""
    plain = {name: [_plain(cell) for cell in values.tolist()] for name, values in columns.items()}
    labels = plain.get("label", [None] * len(plain["entity"]))
    plain["label"] = [label or None for label in labels]
    rows = (
        dict(zip(_OUTPUTS, cells, strict=True))
        for cells in zip(*map(plain.get, _OUTPUTS), strict=True)
    )
    return [{"rank": rank, **row} for rank, row in enumerate(rows, start=1) if row["entity"]]


def _newest(folder: pathlib.Path) -> pathlib.Path:
    versions = [path.parent for path in folder.glob("*/saved_model.pb")]
    numbered = [path for path in versions if path.name.isascii() and path.name.isdecimal()]
    return max(numbered, key=lambda path: int(path.name), default=folder)


def _plain(cell: Any) -> Any:
    return cell.decode() if isinstance(cell, bytes) else cell
