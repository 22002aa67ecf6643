"""The runs of a search as they lie on disk, which is all that a search remembers."""

import dataclasses
import json
import pathlib
import shutil
from collections.abc import Iterable, Mapping
from typing import Any

from quatre_tf.atomic_files import write_text
from quatre_tf.paths import BEST_MODEL
from trainers.reporting.training_log import VALID, best_record, read_records
from trainers.training.config import TrainConfig
from trainers.training.run_directory import RunDirectory

COMPLETED, PRUNED, FAILED, UNFINISHED = "completed", "pruned", "failed", "unfinished"


@dataclasses.dataclass(frozen=True)
class Result:
    """What a run of a search reached.

    Attributes:
        number: Of its configuration, from 1.
        path: The run directory.
        config: Its settings.
        state: `"completed"`: trained to its end, or until patience ran out; `"pruned"`: ended by
            successive halving; `"failed"`: training collapsed; `"unfinished"`: to be resumed.
        epochs: Epochs done.
        seconds: Wall time.
        best: The validation that `config.best_by` chooses, a record of metrics.jsonl; None before
            the first.
    """

    number: int
    path: pathlib.Path
    config: TrainConfig
    state: str
    epochs: float
    seconds: float
    best: Mapping[str, Any] | None

    @property
    def value(self) -> float:
        """What the search wants to be high; minus infinity before the first validation."""
        return self.best[self.config.best_by] if self.best else -float("inf")


class TrialRun:
    """A run of a search: an ordinary run directory, and trial.json in it once it is over.

    Args:
        output: The folder of the search.
        number: Of the configuration, from 1.
        config: The settings.
    """

    def __init__(self, output: pathlib.Path, number: int, config: TrainConfig):
        self.number, self.config = number, config
        self.directory = RunDirectory(output / f"trial-{number:03d}-seed{config.seed}")
        self._state_file = self.directory.path / "trial.json"

    @property
    def state(self) -> str:
        """How it ended, or `"unfinished"`."""
        if not self._state_file.exists():
            return UNFINISHED
        return json.loads(self._state_file.read_text(encoding="utf-8"))["state"]

    def describe(self, names: Iterable[str]) -> str:
        """Returns its values of some settings, for people."""
        return ", ".join(f"{name}={getattr(self.config, name):g}" for name in names)

    @property
    def validations(self) -> list[dict[str, Any]]:
        """Its validations so far, as in metrics.jsonl."""
        records = read_records(self.directory.metrics_file)
        return [record for record in records if record["group"] == VALID]

    def end(self, state: str, message: str = "") -> None:
        """Notes how the run ended; of one that was not completed, the weights are removed.

        Args:
            state: How, as in `Result`.
            message: Why.
        """
        text = json.dumps({"state": state, "message": message}) + "\n"
        # A run that is over is never trained again.
        write_text(self._state_file, text)
        if state != COMPLETED:
            for weights in (self.directory.checkpoints, self.directory.path / BEST_MODEL.parent):
                shutil.rmtree(weights, ignore_errors=True)

    def result(self) -> Result:
        """Reads what it reached."""
        records = read_records(self.directory.metrics_file)
        last = records[-1] if records else {"epoch": 0.0, "seconds": 0.0}
        return Result(
            self.number,
            self.directory.path,
            self.config,
            self.state,
            last["epoch"],
            last["seconds"],
            best_record(records, self.config.best_by),
        )
