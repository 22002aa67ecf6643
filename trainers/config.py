"""The settings of a training run, and the presets of the data sets."""

import dataclasses
import json
import math
import pathlib
from collections.abc import Mapping
from typing import Any

from trainers.errors import ConfigError

RECIPES = ("paper",)
VARIANTS = ("quatre", "quate", "quatre_head", "quatre_tail")
CORRUPTIONS = ("bern", "uniform")
STRATEGIES = ("default", "mirrored")
TIE_POLICIES = ("realistic", "optimistic", "pessimistic")

# Settings that do not change what a step computes: a resumed run may change them.
RESUMABLE = frozenset(
    {"epochs", "validate_every", "patience", "strategy", "num_replicas", "tie_policy"}
)


@dataclasses.dataclass(frozen=True)
class TrainConfig:
    """Everything that determines a run, as stored in `config.json`.

    Attributes:
        dataset: Name in the catalogue, or path of a folder.
        recipe: `"paper"`: as the reference: sampled logistic loss, batch L2, Adagrad.
        variant: Which rotations are learned.
        embedding_dim: Quaternions per embedding (n of the paper); 4n floats.
        num_negatives: Corrupted triples per positive (s).
        corruption: `"bern"` or `"uniform"`: how the corrupted side is chosen.
        batch_size: Positives per step over all replicas; 0 stands for |train| / 100, rounded down.
        steps_per_epoch: Steps that are called an epoch; the reference's 100.
        learning_rate: Adagrad's.
        l2: Weight of the batch L2 (lambda of the paper).
        clip_norm: Bound of the global gradient norm; 0 for none.
        epochs: Where training ends at the latest.
        validate_every: Epochs between validations.
        patience: Validations without a better Hits@10 after which training stops; 0 for never.
        tie_policy: How equal scores count in ranks.
        strategy: tf.distribute strategy.
        num_replicas: Logical CPU devices of `mirrored` where there is no accelerator.
        seed: Of initialisation and batches.
    """

    dataset: str
    recipe: str = "paper"
    variant: str = "quatre"
    embedding_dim: int = 128
    num_negatives: int = 5
    corruption: str = "bern"
    batch_size: int = 0
    steps_per_epoch: int = 100
    learning_rate: float = 0.1
    l2: float = 0.5
    clip_norm: float = 0.5
    epochs: int = 1000
    validate_every: int = 50
    patience: int = 10
    tie_policy: str = "realistic"
    strategy: str = "default"
    num_replicas: int = 2
    seed: int = 1

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            value = getattr(self, name)
            _check(value in choices, name, f"one of {', '.join(choices)}", value)
        for name, least in _AT_LEAST.items():
            value = getattr(self, name)
            _check(value >= least, name, f"at least {least}", value)
        _check(self.learning_rate > 0, "learning_rate", "above 0", self.learning_rate)
        for name in ("learning_rate", "l2", "clip_norm"):
            value = getattr(self, name)
            _check(math.isfinite(value), name, "a finite number", value)

    def to_json(self) -> str:
        """Returns the settings as JSON text, one a line."""
        return json.dumps(dataclasses.asdict(self), indent=2) + "\n"

    @classmethod
    def from_file(cls, path: pathlib.Path) -> "TrainConfig":
        """Reads `config.json`; ConfigError when it is missing, malformed or of another version."""
        try:
            fields = json.loads(path.read_text(encoding="utf-8"))
            return cls(**fields)
        except FileNotFoundError as error:
            raise ConfigError(f"{path.parent} is not a run directory: no {path.name}.") from error
        except (OSError, ValueError, TypeError) as error:
            raise ConfigError(f"{path} does not hold the settings of a run: {error}") from error


_CHOICES = {
    "recipe": RECIPES,
    "variant": VARIANTS,
    "corruption": CORRUPTIONS,
    "tie_policy": TIE_POLICIES,
    "strategy": STRATEGIES,
}
_AT_LEAST: dict[str, float] = {
    "embedding_dim": 1,
    "num_negatives": 1,
    "batch_size": 0,
    "steps_per_epoch": 1,
    "l2": 0.0,
    "clip_norm": 0.0,
    "epochs": 1,
    "validate_every": 1,
    "patience": 0,
    "num_replicas": 1,
}


def _check(right: bool, name: str, expectation: str, value: Any) -> None:
    if not right:
        raise ConfigError(f"--{name} must be {expectation}. Received: {value!r}.")


# The README commands of the reference implementation, for the paper's four benchmarks.
_PAPER_PRESETS: dict[str, dict[str, Any]] = {
    "wn18rr": {"embedding_dim": 256, "num_negatives": 5, "l2": 0.5, "epochs": 8000},
    "fb15k237": {"embedding_dim": 384, "num_negatives": 10, "l2": 0.5, "epochs": 2000},
    "wn18": {"embedding_dim": 256, "num_negatives": 10, "l2": 0.1, "epochs": 8000},
    "fb15k": {
        "embedding_dim": 384,
        "num_negatives": 5,
        "l2": 0.05,
        "epochs": 2000,
        "learning_rate": 0.02,
    },
}
_VALIDATE_EVERY = {"wn18rr": 400, "wn18": 400, "fb15k237": 200, "fb15k": 200}
# Graphs that the paper does not have; chosen on their validation splits.
_SMALL_PRESETS: dict[str, dict[str, Any]] = {
    "countries": {
        "embedding_dim": 100,
        "num_negatives": 10,
        "l2": 0.3,
        "epochs": 100,
        "validate_every": 5,
        "patience": 8,
    },
    "umls": {"embedding_dim": 32, "epochs": 200, "validate_every": 20},
    "kinship": {"embedding_dim": 32, "epochs": 200, "validate_every": 20},
    "nations": {"embedding_dim": 32, "epochs": 100, "validate_every": 10},
}


def preset(dataset: str, recipe: str = "paper") -> dict[str, Any]:
    """Returns the settings that differ from TrainConfig's defaults for a (dataset, recipe)."""
    settings: dict[str, Any] = {"dataset": dataset, "recipe": recipe}
    if dataset in _PAPER_PRESETS:
        validate_every = _VALIDATE_EVERY[dataset]
        return {**settings, **_PAPER_PRESETS[dataset], "validate_every": validate_every}
    return {**settings, **_SMALL_PRESETS.get(dataset, {})}


def resolve(dataset: str, recipe: str, given: Mapping[str, Any]) -> TrainConfig:
    """Returns the preset of (dataset, recipe) with the given settings put over it."""
    return TrainConfig(**{**preset(dataset, recipe), **given})


def resume(stored: TrainConfig, given: Mapping[str, Any]) -> TrainConfig:
    """Returns the stored settings with the given ones that may change.

    Raises:
        ConfigError: A given setting conflicts with the stored run; names all that do.
    """
    conflicts = [
        f"{name} is {getattr(stored, name)!r} there, received {value!r}"
        for name, value in given.items()
        if name not in RESUMABLE and value != getattr(stored, name)
    ]
    if conflicts:
        raise ConfigError(
            f"The run directory holds a run with other settings: {'; '.join(conflicts)}. "
            "Leave these flags out to resume it, or choose another --run_dir."
        )
    return dataclasses.replace(stored, **given)
