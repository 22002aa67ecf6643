"""Summary of a run: settings, test metrics, learning curves."""

import dataclasses
from typing import Any

import numpy as np

from quatre_tf.ranking.results import Results
from trainers.reporting.evaluation_tables import overall
from trainers.reporting.runs import ReportedRun, facts
from trainers.reporting.training_log import SAMPLE, TRAIN, VALID, read_records, series
from trainers.training.run_directory import RunDirectory

_LINES = {"loss": (TRAIN,), "mrr": (VALID, SAMPLE), "hits@10": (VALID, SAMPLE)}
# More than a chart has room for.
_MAX_POINTS = 500


def overview(run: ReportedRun) -> dict[str, Any]:
    """Returns the facts and settings of a run, and its test figures as cells of a table.

    Raises:
        DataError: test_metrics.json is damaged.
    """
    return {"facts": facts(run), "settings": run.settings, "test": _test_table(run)}


def curves(run: ReportedRun) -> dict[str, Any]:
    """Returns the learning curves, read anew: the run may still be training.

    Returns:
        For `"loss"`, `"mrr"` and `"hits@10"` the points `[epoch, value]` of each group of records
        that has it; for `"best"` the validation whose weights were kept, or None.

    Raises:
        DataError: See `trainers.reporting.training_log.read_records`.
    """
    run = dataclasses.replace(run, records=read_records(RunDirectory(run.path).metrics_file))
    lines = {
        metric: {group: _points(series(run.records, group, metric)) for group in groups}
        for metric, groups in _LINES.items()
    }
    return {**lines, "best": run.best}


def _points(curve: np.ndarray) -> list[list[float]]:
    step = -(-curve.shape[1] // _MAX_POINTS) or 1
    # Backwards, so that the last point is always one of them.
    return curve.T[::-1][::step][::-1].tolist()


def _test_table(run: ReportedRun) -> list[list[str]]:
    path = RunDirectory(run.path).test_metrics_file
    if not path.exists():
        return []
    table = overall(Results.load(path))
    return [list(row) for row in (table.header, *table.rows)]
