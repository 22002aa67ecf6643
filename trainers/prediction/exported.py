"""Answers of a SavedModel, new entities included."""

import pathlib
from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import Any

import tensorflow as tf

from datasets.triples import COLUMNS
from quatre_tf.errors import DataError, UnknownNameError
from saved_models.tables import read_names
from trainers.prediction.formats import Block, Report
from trainers.prediction.predicting import Options
from trainers.prediction.questions import ASKED, open_end

_OUTPUTS = {
    "entity": "entities",
    "label": "labels",
    "score": "scores",
    "probability": "probabilities",
}
_COLUMNS = (*COLUMNS, "rank", *_OUTPUTS)


def report_exported(
    folder: pathlib.Path, questions: Sequence[Sequence[str]], options: Options, titles: bool
) -> Report:
    """Returns the answers of an exported model.

    Args:
        folder: A version, or the folder of the versions, of which the newest answers.
        questions: Head, relation and tail by name; what is asked for is "?" or "".
        options: `top_k`, `include_known` and `candidates` of them.
        titles: Whether a table says what was asked.

    Raises:
        DataError: There is no model, or a question does not leave out one end.
    """
    version, signatures = _newest(folder), [_signature(fields) for fields in questions]
    model = _load(version)

    def blocks() -> Iterator[Block]:
        for fields, (signature, given) in zip(questions, signatures, strict=True):
            rows = _answers(version, getattr(model, signature), given, options)
            title = f"({', '.join(name or ASKED for name in fields)})" if titles else ""
            yield Block(title, dict(zip(COLUMNS, fields, strict=True)), rows)

    return Report(_COLUMNS, blocks(), options.note(calibrated=True, num_entities=None))


def _newest(folder: pathlib.Path) -> pathlib.Path:
    versions = [path.parent for path in folder.glob("*/saved_model.pb")]
    numbered = [path for path in versions if path.name.isdigit()]
    return max(numbered, key=lambda path: int(path.name), default=folder)


def _load(folder: pathlib.Path) -> Any:
    try:
        return tf.saved_model.load(folder)
    except (OSError, ValueError, tf.errors.OpError) as error:
        raise DataError(
            f"{folder} holds no exported model, such as RUN_DIR/saved_model: {error}"
        ) from error


def _signature(fields: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Returns the signature for a question, and the names that it takes."""
    head, relation, tail = fields
    asked, given = open_end(head, tail)
    if asked == "tail":
        return "predict_tails", {"head": given, "relation": relation}
    return "predict_heads", {"relation": relation, "tail": given}


def _answers(
    version: pathlib.Path, predict: Any, given: dict[str, str], options: Options
) -> list[dict[str, Any]]:
    answer = predict(
        **{place: tf.constant([name]) for place, name in given.items()},
        top_k=tf.constant(options.top_k),
        filtered=tf.constant(not options.include_known),
        type_constrained=tf.constant(options.candidates == "seen"),
    )
    status = answer["status"][0].numpy().decode()
    if status != "OK":
        place = status.removeprefix("UNKNOWN_").lower()
        kind = "relation" if place == "relation" else "entity"
        close = read_names(version, kind).suggest(given[place])
        raise UnknownNameError(given[place], kind, close)
    columns = [
        [_plain(cell) for cell in answer[output][0].numpy().tolist()]
        if output in answer
        else repeat("")
        for output in _OUTPUTS.values()
    ]
    rows = [dict(zip(_OUTPUTS, cells, strict=False)) for cells in zip(*columns, strict=False)]
    # Where candidates run out, names are empty.
    return [{"rank": rank, **row} for rank, row in enumerate(rows, start=1) if row["entity"]]


def _plain(cell: Any) -> Any:
    return cell.decode() if isinstance(cell, bytes) else cell
