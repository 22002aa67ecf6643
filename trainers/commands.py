"""The command that trains a run."""

import dataclasses
import shlex

from trainers.config import TrainConfig
from trainers.presets import resolve


def command_of(config: TrainConfig) -> str:
    """Returns the command of a run: what differs from its preset, as a shell takes it."""
    usual = resolve(config.dataset, config.recipe, {})
    given = [f"--dataset={config.dataset}"]
    if config.recipe != TrainConfig.recipe:
        given.append(f"--recipe={config.recipe}")
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if field.name not in ("dataset", "recipe") and value != getattr(usual, field.name):
            given.append(f"--{field.name}={value}")
    return shlex.join(["python", "-m", "trainers.fit", *given])
