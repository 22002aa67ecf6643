"""What an ablation compares; needs no TensorFlow, so that wrong flags answer at once."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from quatre_tf.errors import ConfigError
from trainers.training import config as configs
from trainers.training import presets
from trainers.training.config import TrainConfig


@dataclasses.dataclass(frozen=True)
class Ablation:
    """What to compare.

    Attributes:
        dataset: Name in the catalogue or path of a folder.
        variants: Distinct ones of `SETTINGS["model"].choices`, in the order of the table.
        seeds: Distinct; each variant is trained with each.
        recipe: How to train.
        settings: Settings of `TrainConfig` that go over the preset, the same for all runs.

    Raises:
        ConfigError: No variant or seed, one twice, an unknown one, or a setting makes no sense.
    """

    dataset: str
    variants: Sequence[str]
    seeds: Sequence[int]
    recipe: str = "paper"
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, values in (("variants", self.variants), ("seeds", self.seeds)):
            if not values or len(set(values)) < len(values):
                received = ",".join(map(str, values)) or "none"
                raise ConfigError(f"--{name} must be distinct ones. Received: {received}.")
        for variant in self.variants:
            if variant not in configs.SETTINGS["model"].choices:
                known = ", ".join(configs.SETTINGS["model"].choices)
                raise ConfigError(f"--variants must be of {known}. Received: {variant!r}.")
        self.configs()

    def configs(self) -> dict[str, TrainConfig]:
        """Returns the settings of each run by its name, VARIANT-seedSEED, seed after seed."""
        return {
            f"{variant}-seed{seed}": presets.resolve(
                self.dataset, self.recipe, {**self.settings, "model": variant, "seed": seed}
            )
            for seed in self.seeds
            for variant in self.variants
        }
