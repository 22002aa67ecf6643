"""The runs of a search on disk, which are its only state."""

import dataclasses
import json
import pathlib
import shutil
from collections.abc import Mapping
from typing import Any

from quatre_tf.atomic_files import write_text
from quatre_tf.errors import DataError
from quatre_tf.paths import BEST_MODEL
from trainers.reporting.training_log import best_record, read_records
from trainers.training.config import TrainConfig
from trainers.training.run_directory import RunDirectory

COMPLETED, PRUNED, FAILED, UNFINISHED = "completed", "pruned", "failed", "unfinished"
_STATE = "trial.json"


@dataclasses.dataclass(frozen=True)
class TrialRun:
    """A run of a search as it was read: a run directory, and trial.json in it once it is over.

    Attributes:
        number: Of its configuration, from 1.
        path: The run directory.
        config: Its settings.
        state: `"completed"`: trained to its end, or until patience ran out; `"pruned"`: ended by
            successive halving; `"failed"`: training collapsed, or it does not fit into memory;
            `"unfinished"`: to be resumed.
        records: Of metrics.jsonl.
    """

    number: int
    path: pathlib.Path
    config: TrainConfig
    state: str
    records: list[dict[str, Any]]

    @classmethod
    def read(cls, path: pathlib.Path, number: int, config: TrainConfig) -> "TrialRun":
        """Reads a run, which may not have begun.

        Raises:
            DataError: What it noted at its end cannot be read.
        """
        file, state = path / _STATE, UNFINISHED
        if file.exists():
            try:
                state = json.loads(file.read_text(encoding="utf-8"))["state"]
                if state not in (COMPLETED, PRUNED, FAILED):
                    raise ValueError(f"state is {state!r}")
            except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
                raise DataError(
                    f"{file} is damaged: {error!r}. Delete it; the trial is judged again."
                ) from error
        return cls(number, path, config, state, read_records(RunDirectory(path).metrics_file))

    @property
    def directory(self) -> RunDirectory:
        """Its paths."""
        return RunDirectory(self.path)

    @property
    def epochs(self) -> float:
        """Epochs done."""
        return self.records[-1]["epoch"] if self.records else 0.0

    @property
    def seconds(self) -> float:
        """Wall time."""
        return self.records[-1]["seconds"] if self.records else 0.0

    @property
    def best(self) -> Mapping[str, Any] | None:
        """The validation that `config.best_by` chooses, a record; None before the first."""
        return best_record(self.records, self.config.best_by)

    @property
    def value(self) -> float:
        """What the search wants to be high; minus infinity before the first validation."""
        return self.best[self.config.best_by] if self.best else -float("inf")

    def end(self, state: str, message: str) -> None:
        """Notes how the run ended, and why; of one that was not completed, weights are removed."""
        self.path.mkdir(exist_ok=True)
        # A run that is over is never trained again.
        write_text(self.path / _STATE, json.dumps({"state": state, "message": message}) + "\n")
        if state != COMPLETED:
            for weights in (self.directory.checkpoints, self.path / BEST_MODEL.parent):
                shutil.rmtree(weights, ignore_errors=True)
