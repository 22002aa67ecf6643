"""Many runs in one folder: what a program that trains one after another asks of each."""

import dataclasses
import shutil
from collections.abc import Iterable

from quatre_tf.data.graph import stored_fingerprint
from quatre_tf.errors import ConfigError, DataError
from trainers.training.config import TrainConfig
from trainers.training.run_directory import RunDirectory


def check_same(config: TrainConfig, run: RunDirectory) -> None:
    """Expects the run, if it is there, to have these settings.

    Raises:
        ConfigError: It has others; names them all.
    """
    if not run.has_run:
        return
    stored = TrainConfig.from_file(run.config_file)
    differences = [
        f"{field.name} is {getattr(stored, field.name)!r} there, wanted "
        f"{getattr(config, field.name)!r}"
        for field in dataclasses.fields(config)
        if getattr(stored, field.name) != getattr(config, field.name)
    ]
    if differences:
        raise ConfigError(
            f"{run.path} holds a run with other settings: {'; '.join(differences)}. Runs of one "
            "folder are compared: give the same flags, or choose another --output."
        )


def check_one_graph(runs: Iterable[RunDirectory]) -> None:
    """Expects the runs that are there to be on one graph.

    Raises:
        DataError: Two are not, because the data set changed in between.
    """
    found = [(run.path, stored_fingerprint(run.graph)) for run in runs if run.has_run]
    for path, fingerprint in found:
        if fingerprint != found[0][1]:
            raise DataError(
                f"{path} was trained on another graph than {found[0][0]}: the data set changed in "
                "between. Choose another --output, or remove the runs on the old one."
            )


def drop_unless_resumable(run: RunDirectory) -> None:
    """Removes a run that was killed before its first checkpoint: there is nothing to resume.

    Raises:
        ConfigError: Another process trains in it.
    """
    if run.has_run and run.is_untrained:
        with run.locked():
            shutil.rmtree(run.path)
