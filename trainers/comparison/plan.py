"""The runs of a comparison; without TensorFlow, so that wrong flags are reported at once."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from quatre_tf.data.candidate_sets import CANDIDATE_SETS
from quatre_tf.errors import ConfigError
from trainers import setting_flags
from trainers.training import presets
from trainers.training.config import SETTINGS, TrainConfig


def chosen_seeds(texts: Sequence[str]) -> list[int]:
    """Returns the seeds of --seeds: "1,2,5" lists them, and "3" alone means 1, 2, 3.

    Raises:
        ConfigError: They are not integers.
    """
    seeds = setting_flags.seeds_of(texts)
    return list(range(1, seeds[0] + 1)) if len(seeds) == 1 else seeds


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Models that are trained alike.

    Attributes:
        dataset: Name in the catalog or path of a folder.
        models: Distinct names; the first is the one that the others are tested against.
        seeds: Distinct seeds; each model is trained with each of them.
        recipe: How to train; empty: the recipe of each model (`presets.recipe_of_model`).
        settings: Settings of `TrainConfig` in place of the preset's, the same for all runs.
        candidates: Candidate sets of the evaluation.

    Raises:
        ConfigError: There is no model or seed, one is repeated or unknown, or a setting is invalid.
    """

    dataset: str
    models: Sequence[str]
    seeds: Sequence[int]
    recipe: str = "paper"
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    candidates: tuple[str, ...] = CANDIDATE_SETS

    def __post_init__(self) -> None:
        for name, values in (("models", self.models), ("seeds", self.seeds)):
            if not values or len(set(values)) < len(values):
                received = ",".join(map(str, values)) or "none"
                raise ConfigError(f"--{name} must be different ones. Received: {received}.")
        for model in self.models:
            if model not in SETTINGS["model"].choices:
                known = ", ".join(SETTINGS["model"].choices)
                raise ConfigError(f"--models must be among {known}. Received: {model!r}.")
        self.configs()

    def configs(self) -> dict[str, TrainConfig]:
        """Returns the settings of each run by its name, MODEL-seedSEED, seed after seed."""
        return {
            f"{model}-seed{seed}": presets.resolve(
                self.dataset,
                self.recipe or presets.recipe_of_model(model, self.dataset),
                {**self.settings, "model": model, "seed": seed},
            )
            for seed in self.seeds
            for model in self.models
        }
