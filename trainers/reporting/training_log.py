"""Reads metrics.jsonl, the training log of a run."""

import json
import pathlib
from typing import Any

import numpy as np

from quatre_tf.errors import DataError

TRAIN, VALID, SAMPLE = "train", "valid/all", "valid_sample/all"
_PLACE: dict[str, Any] = {"group": str, "step": int, "epoch": (int, float), "seconds": (int, float)}


def read_records(path: pathlib.Path) -> list[dict[str, Any]]:
    """Returns the records of a run in the order of their steps; none when there is no file.

    A last line that was cut off is left out: a run that is resumed removes it
    (`RunDirectory.rewind_metrics`), and the work that was lost.

    Raises:
        DataError: `FILE:LINE: ...` for another line that is not a record.
    """
    try:
        *whole, _cut_off = path.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise DataError(f"Cannot read {path}: {error}. Restore or remove it.") from error
    return [_record(line, f"{path}:{n}") for n, line in enumerate(whole, 1)]


def series(records: list[dict[str, Any]], group: str, metric: str) -> np.ndarray:
    """Returns epochs and values of a metric: [2, records that have it]."""
    pairs = [(r["epoch"], r[metric]) for r in records if r["group"] == group and metric in r]
    return np.array(pairs, dtype=float).reshape(-1, 2).T


def best_record(records: list[dict[str, Any]], best_by: str) -> dict[str, Any] | None:
    """Returns the validation whose weights were kept, None before the first.

    Args:
        records: See `read_records`.
        best_by: The figure that chose, `TrainConfig.best_by`; of equal ones the first is kept.
    """
    validations = [record for record in records if record["group"] == VALID]
    return max(validations, key=lambda record: record[best_by], default=None)


def _record(line: str, where: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        record = None
    is_record = isinstance(record, dict) and all(
        isinstance(record.get(name), types) for name, types in _PLACE.items()
    )
    if not is_record:
        raise DataError(
            f"{where}: expected a record of a run, received {line[:60]!r}. Remove the line."
        )
    return record
