"""The plan of a search; without TensorFlow and Optuna, so that wrong flags are reported at once."""

import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from quatre_tf.errors import ConfigError
from trainers.training import presets
from trainers.training.config import REGULARIZERS, SETTINGS, TrainConfig
from trainers.training.setting import Choices, LogUniform

Space = Mapping[str, Choices | LogUniform]
_DEFAULT_TRIALS = 16


@dataclasses.dataclass(frozen=True)
class Search:
    """What to search, and how long.

    Attributes:
        dataset: Name in the catalogue or path of a folder.
        recipe: How to train; `Setting.search` has what it varies.
        settings: Settings of `TrainConfig`, the same for all trials; the space is searched without
            them.
        seeds: Distinct. The first draws the configurations and trains each of them; the others
            train the finalists again.
        trials: Configurations at most; 0 for the whole grid, or for 16 random ones.
        finalists: How many of the best configurations are trained with all seeds.
        budget_minutes: Wall time of the whole search; 0 for no bound.
        num_entities: Entities of the graph, if they are known: numbers of candidates that mean all
            of them are one value.

    Raises:
        ConfigError: A setting makes no sense, or nothing is left to search.
    """

    dataset: str
    recipe: str = "paper"
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    seeds: Sequence[int] = (1,)
    trials: int = 0
    finalists: int = 3
    budget_minutes: float = 0.0
    num_entities: int = 0

    def __post_init__(self) -> None:
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            received = ",".join(map(str, self.seeds)) or "none"
            raise ConfigError(f"--seeds must be distinct ones. Received: {received}.")
        for name, least in (("trials", 0), ("finalists", 1), ("budget_minutes", 0)):
            value = getattr(self, name)
            if not value >= least:
                raise ConfigError(f"--{name} must be at least {least}. Received: {value}.")
        if not self.space:
            varied = ", ".join(f"--{name}" for name in self._whole_space)
            raise ConfigError(
                f"Nothing is left to search: --recipe={self.recipe} varies {varied}, and all of "
                "them are given. Leave one out."
            )
        self.base()

    @property
    def space(self) -> Space:
        """What varies."""
        space = self._whole_space
        return {name: values for name, values in space.items() if name not in self.settings}

    @property
    def _whole_space(self) -> Space:
        preset = presets.resolve(self.dataset, self.recipe, self.settings)
        # `paper` is the grid of Nguyen et al., QuatRE, WWW 2022 Companion, training protocol. Its
        # last setting varies fastest, so small models come first. Regularisers are those that the
        # preset has: most sums of two would be too much.
        space = {
            name: setting.search.get(preset.optimizer, setting.search[self.recipe])
            for name, setting in SETTINGS.items()
            if self.recipe in setting.search
            and setting.is_read_by(self.recipe, preset.model)
            and (name not in REGULARIZERS or getattr(preset, name))
        }
        if self.num_entities and "num_candidates" in space:
            numbers = cast("Choices", space["num_candidates"])
            few = [number for number in numbers if number < self.num_entities]
            space["num_candidates"] = numbers[: len(few) + 1]
            if not few:
                del space["num_candidates"]
        return space

    @property
    def grid(self) -> list[dict[str, Any]]:
        """The points of the paper's grid in the order they are tried; none for other recipes."""
        if self.recipe != "paper":
            return []
        points = itertools.product(*cast("Iterable[Choices]", self.space.values()))
        return [dict(zip(self.space, point, strict=True)) for point in points]

    @property
    def num_trials(self) -> int:
        """How many configurations there are to try."""
        if not self.grid:
            return self.trials or _DEFAULT_TRIALS
        return min(self.trials or len(self.grid), len(self.grid))

    def base(self) -> TrainConfig:
        """Returns the settings that all trials share, the preset's where the space varies."""
        return self.config({}, self.seeds[0])

    def config(self, point: Mapping[str, Any], seed: int) -> TrainConfig:
        """Returns the settings of a run at a point of the space."""
        return presets.resolve(self.dataset, self.recipe, {**self.settings, **point, "seed": seed})
