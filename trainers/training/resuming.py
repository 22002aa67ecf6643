"""Checks for --resume, before TensorFlow is imported and before files change."""

import dataclasses
import pathlib
import zipfile
from typing import Any

from quatre_tf.errors import ConfigError, DataError
from quatre_tf.paths import BEST_MODEL
from quatre_tf.ranking.results import Results
from trainers.reporting.training_log import VALID, read_records
from trainers.training.config import TrainConfig, differences
from trainers.training.run_directory import RunDirectory


def check_resumable(run: RunDirectory, config: TrainConfig) -> None:
    """Expects that training can continue, and that nothing is missing when it ends.

    The graph and the tensors of the checkpoints have checksums, which are checked as they are read.

    Args:
        run: The folder.
        config: The settings to continue with.

    Raises:
        ConfigError: The settings are not those that the checkpoints were trained with, or end
            before them; or there is no checkpoint.
        DataError: A file is missing, damaged, or not a file.
    """
    run.check_kinds()
    # Of one that was killed before its first checkpoint, nothing is used.
    if run.is_untrained:
        return
    _check_settings(run.trained_config_file, config)
    steps = run.checkpoint_steps
    if not steps:
        raise ConfigError(
            f"There is no checkpoint in {run.checkpoints} to resume from: the run was imported, "
            "or its checkpoints were removed. Start another one in another --run_dir."
        )
    records = [record for record in read_records(run.metrics_file) if record["step"] <= steps[0]]
    # The first step is recorded by itself.
    if steps[0] > 1 and not records:
        raise DataError(
            f"{run.metrics_file} has no record of the {steps[0]} steps that were trained. "
            "Restore it, or start again in another --run_dir."
        )
    _check_end(TrainConfig.from_file(run.config_file), config, records)
    if any(record["group"] == VALID for record in records):
        _check_archive(run.path / BEST_MODEL)
    if run.test_metrics_file.exists():
        Results.load(run.test_metrics_file)


def _check_settings(path: pathlib.Path, config: TrainConfig) -> None:
    if not path.exists():  # A run of an earlier version.
        return
    changes = differences(
        TrainConfig.from_file(path), dataclasses.asdict(config), but_resumable=True
    )
    if changes:
        raise ConfigError(
            f"config.json was changed since {path.parent} was written: {changes}. "
            "Change it back, or train with other settings in another --run_dir."
        )


def _check_end(stored: TrainConfig, config: TrainConfig, records: list[dict[str, Any]]) -> None:
    """Expects a new end of the run to lie after what is done."""
    spent = {"epochs": "epoch", "budget_minutes": "seconds"}
    name = "budget_minutes" if config.budget_minutes else "epochs"
    done = max((record[spent[name]] for record in records), default=0)
    done /= 60 if config.budget_minutes else 1
    wanted = getattr(config, name)
    if wanted != getattr(stored, name) and wanted < done:
        raise ConfigError(
            f"--{name} must be at least {done:g}, which the run has had already. Received: "
            f"{wanted:g}."
        )


def _check_archive(path: pathlib.Path) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()
        problem = f"{damaged} in it is damaged" if damaged else ""
    except (OSError, ValueError, EOFError, NotImplementedError, zipfile.BadZipFile) as error:
        problem = str(error)
    if problem:
        raise DataError(
            f"Cannot read the best model {path}: {problem}. Restore it, or start again in another "
            "--run_dir."
        )
