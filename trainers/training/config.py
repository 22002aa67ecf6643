"""The settings of a training run."""

import dataclasses
import json
import pathlib
import sys
from collections.abc import Mapping
from typing import Any

from quatre_tf.errors import ConfigError

# What a setting may be, where it is one of a few.
CHOICES = {
    "recipe": ("paper", "strong", "sampled"),
    "variant": ("quatre", "quate", "quatre_head", "quatre_tail"),
    "corruption": ("bern", "uniform"),
    "strategy": ("default", "one_device", "mirrored", "multi_worker", "parameter_server"),
    "tie_policy": ("realistic", "optimistic", "pessimistic"),
    "compute_dtype": ("float32", "bfloat16"),
    "lr_decay": ("none", "linear"),
    "best_by": ("hits@10", "mrr"),
}

# Settings that do not change what a step computes: a resumed run may change them. (A decaying
# learning rate is planned anew when the end is moved.)
RESUMABLE = frozenset(
    {
        "budget_minutes",
        "deterministic",
        "epochs",
        "num_replicas",
        "patience",
        "strategy",
        "tie_policy",
        "validate_every",
    }
)


@dataclasses.dataclass(frozen=True)
class TrainConfig:
    """Everything that determines a run, as stored in `config.json`.

    Attributes:
        dataset: Name in the catalogue, or path of a folder.
        recipe: `"paper"`: as the reference: sampled logistic loss, batch L2, Adagrad. `"strong"`:
            softmax over all entities, N3, Adagrad. `"sampled"`: the same over sampled entities, so
            that a step does not grow with the graph.
        variant: Which rotations are learned.
        reciprocal: Whether heads are asked for as tails of an inverse relation of its own.
        normalize_relations: Whether v_r is normalised, as in the paper.
        embedding_dim: Quaternions per embedding (n of the paper); 4n floats.
        init_scale: Standard deviation of the initial values; 0 for the reference's Glorot uniform.
        num_negatives: Corrupted triples per positive (s); `paper`.
        corruption: `"bern"` or `"uniform"`: how the corrupted side is chosen; `paper`.
        batch_size: Positives (`paper`) or distinct queries (`strong`, `sampled`) per step over all
            replicas; 0 stands for a hundredth of train, rounded down, and for 1000 queries.
        num_candidates: Entities that the queries of a step are ranked among; `sampled`.
        steps_per_epoch: Steps that are called an epoch; the reference's 100. 0 stands for a pass
            over all queries; `strong`, `sampled`.
        learning_rate: Adagrad's.
        lr_decay: `"linear"`: the learning rate goes down to 0 at the end of training.
        l2: Weight of the batch L2 (lambda of the paper); `paper`.
        n3: Weight of the N3 regulariser; `strong`, `sampled`.
        dura: Weight of the DURA regulariser; `strong`, `sampled`.
        label_smoothing: Share of a target's probability spread over all entities; `strong`.
        relation_prediction: Weight of the auxiliary relation prediction; `strong`, `sampled`.
        compute_dtype: Of the matrix products of training; `strong`, `sampled`. Ranks are float32.
        clip_norm: Bound of the global gradient norm; 0 for none.
        epochs: Where training ends at the latest.
        budget_minutes: Wall time of the whole run, in place of `epochs` and `validate_every`; 0
            for none.
        validate_every: Epochs between validations.
        best_by: The validation figure that chooses the weights: `"hits@10"` or `"mrr"`.
        patience: Validations without a better one after which training stops; 0 for never.
        tie_policy: How equal scores count in ranks.
        strategy: tf.distribute strategy (docs/distributed.md).
        num_replicas: Logical CPU devices of `mirrored` where there is no accelerator.
        deterministic: Whether TensorFlow is asked for reproducible operations (docs/survival.md).
        seed: Of initialisation and batches.
    """

    dataset: str
    recipe: str = "paper"
    variant: str = "quatre"
    reciprocal: bool = False
    normalize_relations: bool = True
    embedding_dim: int = 128
    init_scale: float = 0.0
    num_negatives: int = 5
    corruption: str = "bern"
    batch_size: int = 0
    num_candidates: int = 4096
    steps_per_epoch: int = 100
    learning_rate: float = 0.1
    lr_decay: str = "none"
    l2: float = 0.5
    n3: float = 0.0
    dura: float = 0.0
    label_smoothing: float = 0.0
    relation_prediction: float = 0.0
    compute_dtype: str = "float32"
    clip_norm: float = 0.5
    epochs: int = 1000
    budget_minutes: float = 0.0
    validate_every: int = 50
    best_by: str = "hits@10"
    patience: int = 10
    tie_policy: str = "realistic"
    strategy: str = "default"
    num_replicas: int = 2
    deterministic: bool = False
    seed: int = 1

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            _check_type(field, getattr(self, field.name))
        for name, choices in CHOICES.items():
            value = getattr(self, name)
            _check(value in choices, name, f"one of {', '.join(choices)}", value)
        for name, least in _AT_LEAST.items():
            value = getattr(self, name)
            _check(value >= least, name, f"at least {least}", value)
        for name, most in _AT_MOST.items():
            value = getattr(self, name)
            _check(value <= most, name, f"at most {most}", value)
        _check(self.learning_rate > 0, "learning_rate", "above 0", self.learning_rate)
        _check(self.label_smoothing < 1, "label_smoothing", "below 1", self.label_smoothing)
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.type is float:
                # In JSON it may be a whole number that no float holds.
                finite = abs(value) <= sys.float_info.max
                _check(finite, field.name, "a finite number", value)
        _check_of_recipe(self)

    def to_json(self) -> str:
        """Returns the settings as JSON text, one a line."""
        return json.dumps(dataclasses.asdict(self), indent=2) + "\n"

    @classmethod
    def from_file(cls, path: pathlib.Path) -> "TrainConfig":
        """Reads `config.json`; ConfigError when it is missing, malformed or of another version."""
        try:
            settings = json.loads(path.read_text(encoding="utf-8"))
            _check_names(settings)
            return cls(**settings)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise ConfigError(f"{path.parent} is not a run directory: no {path.name}.") from error
        except (OSError, ValueError, RecursionError) as error:
            raise ConfigError(f"{path} does not hold the settings of a run: {error}") from error


# Of the softmax recipes. They add up.
REGULARIZERS = ("n3", "dura")
_AT_LEAST: dict[str, float] = {
    "embedding_dim": 1,
    "num_negatives": 1,
    "num_candidates": 1,
    "batch_size": 0,
    "steps_per_epoch": 0,
    "init_scale": 0.0,
    "l2": 0.0,
    "n3": 0.0,
    "dura": 0.0,
    "label_smoothing": 0.0,
    "relation_prediction": 0.0,
    "budget_minutes": 0.0,
    "clip_norm": 0.0,
    "epochs": 1,
    "validate_every": 1,
    "patience": 0,
    "num_replicas": 1,
    "seed": 0,
}
# Far beyond any use, and where the 32 bits of a seed, of a tensor's size or, multiplied, the 64 of
# a step would not hold them any more.
_AT_MOST = {
    "embedding_dim": 2**16,
    "num_negatives": 2**16,
    "num_candidates": 2**24,
    "batch_size": 2**24,
    "steps_per_epoch": 10**9,
    "epochs": 10**9,
    "validate_every": 10**9,
    "patience": 10**9,
    "num_replicas": 2**8,
    "seed": 2**32 - 1,
}
# Of a field: what it may be in JSON, and what to call it.
_TYPES: dict[Any, tuple[tuple[type, ...], str]] = {
    str: ((str,), "text"),
    bool: ((bool,), "true or false"),
    int: ((int,), "a whole number"),
    float: ((int, float), "a number"),
}


def _check_names(settings: Any) -> None:
    """Expects the JSON object of `TrainConfig.to_json`, perhaps without some that came later."""
    if not isinstance(settings, dict) or "dataset" not in settings:
        raise ConfigError('expected a JSON object {"dataset": ..., ...}. Restore the file.')
    known = {field.name for field in dataclasses.fields(TrainConfig)}
    unknown = sorted(settings.keys() - known)
    if unknown:
        raise ConfigError(
            f"this version does not know {', '.join(map(repr, unknown))}. If a newer one wrote it,"
            " use that one; otherwise mend the file."
        )


def _check_type(field: dataclasses.Field, value: Any) -> None:
    accepted, noun = _TYPES[field.type]
    # In Python a truth value is a whole number.
    right = isinstance(value, accepted) and isinstance(value, bool) == (field.type is bool)
    _check(right, field.name, noun, value)


def _check(right: bool, name: str, expectation: str, value: Any) -> None:
    if not right:
        raise ConfigError(f"--{name} must be {expectation}. Received: {value!r}.")


# The recipes that read a setting, where not all do.
_READ_BY = {
    "num_negatives": ("paper",),
    "corruption": ("paper",),
    "l2": ("paper",),
    # The objective of the paper would never train the rows by which heads are then asked for.
    "reciprocal": ("strong", "sampled"),
    "n3": ("strong", "sampled"),
    "dura": ("strong", "sampled"),
    "relation_prediction": ("strong", "sampled"),
    "compute_dtype": ("strong", "sampled"),
    "label_smoothing": ("strong",),
    "num_candidates": ("sampled",),
}


def _check_of_recipe(config: "TrainConfig") -> None:
    """A setting that nothing reads would be a silent mistake."""
    defaults = {field.name: field.default for field in dataclasses.fields(config)}
    for name, recipes in _READ_BY.items():
        value = getattr(config, name)
        if config.recipe not in recipes and value != defaults[name]:
            raise ConfigError(
                f"--{name} is a setting of --recipe={' and --recipe='.join(recipes)}; "
                f"--recipe={config.recipe} does not read it. Received: {value!r}. Leave it out."
            )
    _check(
        config.steps_per_epoch > 0 or config.recipe != "paper",
        "steps_per_epoch",
        "at least 1 with --recipe=paper",
        config.steps_per_epoch,
    )


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
