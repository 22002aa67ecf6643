"""The command that trains a run."""

import dataclasses
import shlex
from collections.abc import Mapping
from typing import Any

from trainers.training.config import TrainConfig
from trainers.training.presets import REPLACED_BY_A_BUDGET, default_recipe, resolve


def command_of(config: TrainConfig) -> str:
    """Returns the command of a run: what differs from its preset, as a shell takes it."""
    # First, because it chooses the preset.
    given: dict[str, Any] = {"model": config.model} if config.model != TrainConfig.model else {}
    # Again, because a setting that is given may change another.
    while missing := _differing(config, given):
        given |= missing
    flags = [f"--dataset={config.dataset}"]
    if config.recipe != TrainConfig.recipe or config.recipe != default_recipe(config.dataset):
        flags.append(f"--recipe={config.recipe}")
    unread = REPLACED_BY_A_BUDGET if config.budget_minutes else set()
    names = [field.name for field in dataclasses.fields(config)]
    flags += [f"--{name}={given[name]}" for name in names if name in given.keys() - unread]
    return shlex.join(["quatre", "fit", *flags])


def _differing(config: TrainConfig, given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings of a run that the given ones do not lead to."""
    found = dataclasses.asdict(resolve(config.dataset, config.recipe, given))
    wanted = dataclasses.asdict(config)
    return {name: value for name, value in wanted.items() if value != found[name]}
