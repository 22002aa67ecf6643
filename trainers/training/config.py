"""The settings of a training run, each declared once."""

import dataclasses
import json
import pathlib
from collections.abc import Mapping
from typing import Any

from datasets.published.benchmarks import DATASET_HELP
from quatre_tf.errors import ConfigError
from quatre_tf.layers.registry import SCORE_FUNCTIONS
from quatre_tf.paths import check_regular
from trainers.training.setting import LogUniform, Setting, check_value, expect, setting

_SOFTMAX = ("strong", "sampled")
_SAMPLED = ("sampled", "self_adversarial")
# These take distinct queries with all their answers.
_QUERIES = (*_SOFTMAX, "self_adversarial")
# Benchmarks whose structure of autosf was published.
_STRUCTURES = ("fb15k237", "fb15k", "wn18rr", "wn18")
# The regularizers of the recipes with queries. They add up.
REGULARIZERS = ("n3", "dura")
_MULTILINEAR = tuple(name for name, entry in SCORE_FUNCTIONS.items() if entry.multilinear)
# Dropping floats of a point would change its distances. ConvE has dropout of its own.
_DOT_PRODUCTS = (*_MULTILINEAR, "quatre_affine")
# The queries of the others hold more than a point: matrices, or all weights, which would shrink.
_WITH_DURA = tuple(
    name for name in SCORE_FUNCTIONS if name not in ("transr", "stranse", "murp", "convkb")
)
# N3 of 0.5 drives a model to zero on WN18RR; too little of it overfits.
_WEIGHTS = dict.fromkeys(_SOFTMAX, LogUniform(0.003, 0.3))
_ADAM_RATES = (0.0003, 0.001, 0.003)
# Far beyond any use, and within 32 bits for the size of a tensor.
_MAX_ROWS = 2**24


def _dropout(rate: float, what: str) -> Any:
    return setting(
        rate,
        help=f"Share of {what} that training drops (conve).",
        group="regularization",
        at_most=0.99,
    )


@dataclasses.dataclass(frozen=True)
class TrainConfig:
    """Everything that determines a run, as stored in `config.json`.

    The attributes are the settings; docs/settings.md describes them.

    Raises:
        ConfigError: A value is not allowed, or nothing reads it.
    """

    dataset: str = setting(
        help=DATASET_HELP,
        group="data",
        basic=True,
    )
    recipe: str = setting(
        "paper",
        help="Training objective: the reference implementation's (paper), softmax over all "
        "entities (strong), softmax over sampled entities (sampled), or RotatE's loss "
        "(self_adversarial).",
        group="recipe",
        basic=True,
        choices=("paper", *_QUERIES),
    )
    model: str = setting(
        "quatre",
        help="Score function of a triple (docs/systems.md).",
        group="model",
        basic=True,
        choices=tuple(SCORE_FUNCTIONS),
    )
    reciprocal: bool = setting(
        False,
        help="Predict heads as tails of inverse relations, with separate embeddings "
        "(not for paper).",
        group="model",
        # The objective of the paper would never train the inverse relations.
        recipes=_QUERIES,
    )
    normalize_relations: bool = setting(
        True,
        help="Normalize the relation quaternions, as in the paper.",
        group="model",
    )
    norm: str = setting(
        "default",
        help="Distance: L1 (1), L2 (2; squared in toruse) or squared chord length (el2, toruse "
        "only); each model has its own default.",
        group="model",
        choices=("default", "1", "2", "el2"),
    )
    structure: str = setting(
        "default",
        help="Structure of autosf: a benchmark's (fb15k237, fb15k, wn18rr, wn18), or terms (head "
        "block, tail block, signed relation block) such as '1,3,1 2,2,2 3,4,-3 4,1,4'.",
        group="model",
    )
    relation_dim: int = setting(
        0,
        help="Floats per relation of transr; 0 for --embedding_dim.",
        group="model",
        at_most=2**16,
    )
    num_filters: int = setting(
        0,
        help="Filters of the convolution; 0 for the model's own number: 32 (conve), 64 (convkb).",
        group="model",
        at_most=2**16,
    )
    input_dropout: float = _dropout(0.2, "input pixels")
    feature_map_dropout: float = _dropout(0.2, "channels")
    hidden_dropout: float = _dropout(0.3, "outputs of the dense layer")
    embedding_dim: int = setting(
        128,
        help="Components per embedding: quaternions (n in the paper, 4 floats each), complex "
        "numbers (complex, rotate), groups of 4 floats (autosf), or floats.",
        group="model",
        basic=True,
        at_least=1,
        at_most=2**16,
        search={
            "paper": (128, 256, 384),
            "strong": (64, 128, 256),
            **dict.fromkeys(_SAMPLED, (128, 256, 512)),
        },
    )
    init_scale: float = setting(
        0.0,
        help="Standard deviation of the initial weights; 0 for Glorot uniform, as in the "
        "reference implementation.",
        group="advanced",
    )
    num_negatives: int = setting(
        5,
        help="Corrupted triples per positive.",
        group="recipe",
        at_least=1,
        at_most=2**16,
        recipes=("paper",),
        search={"paper": (1, 5, 10)},
    )
    corruption: str = setting(
        "bern",
        help="How to choose the side of a triple to corrupt: by the relation's tails per head "
        "and heads per tail (bern), or both sides equally often (uniform).",
        group="recipe",
        choices=("bern", "uniform"),
        recipes=("paper",),
    )
    batch_size: int = setting(
        0,
        help="Batch size over all replicas. paper: positives, 0 for a hundredth of train; "
        "others: distinct queries, 0 for 1000.",
        group="recipe",
        at_most=_MAX_ROWS,
        search=dict.fromkeys(_QUERIES, (500, 1000, 2000)),
    )
    max_answers: int = setting(
        0,
        help="Split queries with more answers into several; 0 for no limit.",
        group="recipe",
        at_most=_MAX_ROWS,
        recipes=_SOFTMAX,
    )
    num_candidates: int = setting(
        4096,
        help="Entities sampled per step as candidates for all its queries.",
        group="recipe",
        at_least=1,
        at_most=_MAX_ROWS,
        recipes=_SAMPLED,
        search={"sampled": (2048, 4096, 8192), "self_adversarial": (512, 1024, 2048)},
    )
    margin: float = setting(
        9.0,
        help="Margin gamma of the self-adversarial loss: a score above -gamma counts as true.",
        group="recipe",
        recipes=("self_adversarial",),
        search={"self_adversarial": (3.0, 6.0, 9.0, 12.0)},
    )
    temperature: float = setting(
        1.0,
        help="Temperature alpha of the self-adversarial loss: higher values give hard negatives "
        "more weight.",
        group="recipe",
        above=0.0,
        recipes=("self_adversarial",),
        search={"self_adversarial": (0.5, 1.0)},
    )
    steps_per_epoch: int = setting(
        100,
        help="Steps per epoch; 0 for one pass over all queries (not paper).",
        group="recipe",
    )
    optimizer: str = setting(
        "adagrad",
        help="Optimizer; adam updates only rows with a gradient (lazy Adam).",
        group="recipe",
        choices=("adagrad", "adam"),
    )
    learning_rate: float = setting(
        0.1,
        help="Learning rate. If --optimizer is not the preset's, the default is 0.1 (adagrad) "
        "or 0.001 (adam).",
        group="recipe",
        basic=True,
        above=0.0,
        search={
            "paper": (0.02, 0.05, 0.1),
            **dict.fromkeys(_SOFTMAX, LogUniform(0.03, 0.3)),
            "self_adversarial": (0.2, 0.6, 1.0),
            "adam": _ADAM_RATES,
        },
    )
    lr_decay: str = setting(
        "none",
        help="linear: decrease the learning rate to 0 during training; late: in its last 40 %.",
        group="recipe",
        choices=("none", "linear", "late"),
    )
    l2: float = setting(
        0.5,
        help="Weight of the batch L2 (lambda in the paper).",
        group="regularization",
        recipes=("paper",),
        search={"paper": (0.05, 0.1, 0.2, 0.5)},
    )
    n3: float = setting(
        0.0,
        help="Weight of N3. It replaces the preset's dura; give --dura to use both.",
        group="regularization",
        basic=True,
        recipes=_QUERIES,
        search=_WEIGHTS,
    )
    dura: float = setting(
        0.0,
        help="Weight of DURA. It replaces the preset's n3; give --n3 to use both.",
        group="regularization",
        recipes=_QUERIES,
        models=_WITH_DURA,
        search=_WEIGHTS,
    )
    opposite_dura: float = setting(
        0.0,
        help="Weight of DURA's norms of queries from the answer, which --dura leaves out.",
        group="regularization",
        recipes=_QUERIES,
        models=_MULTILINEAR,
    )
    query_dropout: float = setting(
        0.0,
        help="Share of the floats of queries that training drops.",
        group="regularization",
        recipes=_SOFTMAX,
        models=_DOT_PRODUCTS,
        at_most=0.99,
    )
    relation_prediction: float = setting(
        0.0,
        help="Weight of the auxiliary task: predict the relation of each triple.",
        group="recipe",
        recipes=_SOFTMAX,
        models=_MULTILINEAR,
        search=dict.fromkeys(_SOFTMAX, (0.0, 0.1, 0.3, 1.0)),
    )
    compute_dtype: str = setting(
        "float32",
        help="Precision of the matrix products in training (paper: always float32).",
        group="advanced",
        choices=("float32", "bfloat16"),
        recipes=_QUERIES,
    )
    clip_norm: float = setting(
        0.5,
        help="Maximum global gradient norm; 0 for no clipping.",
        group="advanced",
    )
    epochs: int = setting(
        1000,
        help="Maximum number of epochs.",
        group="run",
        basic=True,
        at_least=1,
        resumable=True,
    )
    budget_minutes: float = setting(
        0.0,
        help="Wall time of the whole run, instead of --epochs and --validate_every; 0: no limit, "
        "but 5 minutes with --auto.",
        group="run",
        basic=True,
        resumable=True,
    )
    validate_every: int = setting(
        50,
        help="Epochs between validations.",
        group="run",
        at_least=1,
        resumable=True,
    )
    best_by: str = setting(
        "hits@10",
        help="Validation metric that chooses the best weights.",
        group="run",
        choices=("hits@10", "mrr"),
    )
    patience: int = setting(
        10,
        help="Stop after this many validations without improvement; 0 for never.",
        group="run",
        resumable=True,
    )
    tie_policy: str = setting(
        "realistic",
        help="How ties count in ranks: mean, best or worst rank among equal scores.",
        group="advanced",
        choices=("realistic", "optimistic", "pessimistic"),
    )
    strategy: str = setting(
        "default",
        help="tf.distribute strategy; multi_worker and parameter_server read TF_CONFIG.",
        group="advanced",
        choices=("default", "one_device", "mirrored", "multi_worker", "parameter_server"),
        resumable=True,
    )
    num_replicas: int = setting(
        2,
        help="Logical CPU devices of --strategy=mirrored on machines without accelerators.",
        group="advanced",
        at_least=1,
        at_most=2**8,
        resumable=True,
    )
    deterministic: bool = setting(
        False,
        help="Use TensorFlow's reproducible operations, for GPUs.",
        group="advanced",
        resumable=True,
    )
    seed: int = setting(
        1,
        help="Seed of initial weights and batches.",
        group="run",
        basic=True,
        at_most=2**32 - 1,
    )

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            check_value(field, SETTINGS[field.name], getattr(self, field.name))
        for field in dataclasses.fields(self):
            _check_is_read(self, field)
        expect(
            self.steps_per_epoch > 0 or self.recipe != "paper",
            "steps_per_epoch",
            "at least 1 with --recipe=paper",
            self.steps_per_epoch,
        )

    @property
    def model_options(self) -> dict[str, Any]:
        """The arguments of the score function except its sizes, by name.

        Raises:
            ConfigError: They do not fit the model.
        """
        given = {name: getattr(self, name) for name in SCORE_FUNCTIONS[self.model].options}
        if given.get("structure") == "default" and self.dataset in _STRUCTURES:
            given["structure"] = self.dataset
        if not given.get("num_filters"):
            given.pop("num_filters", None)
        return {name: _argument(name, value) for name, value in given.items() if value != "default"}

    def to_json(self) -> str:
        """Returns the settings as JSON text, one a line."""
        return json.dumps(dataclasses.asdict(self), indent=2) + "\n"

    @classmethod
    def from_file(cls, path: pathlib.Path) -> "TrainConfig":
        """Reads `config.json`; ConfigError when it is missing, malformed or of another version."""
        try:
            check_regular(path)
            settings = json.loads(path.read_text(encoding="utf-8"))
            _check_names(settings)
            return cls(**settings)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise ConfigError(f"{path.parent} is not a run directory: no {path.name}.") from error
        except (OSError, ValueError, RecursionError) as error:
            raise ConfigError(f"{path} does not hold the settings of a run: {error}") from error


def _declared(field: dataclasses.Field) -> Setting:
    """Returns the declared settings; the registry determines which models read an option."""
    found: Setting = field.metadata["setting"]
    models = [name for name, entry in SCORE_FUNCTIONS.items() if field.name in entry.options]
    return dataclasses.replace(found, models=tuple(models)) if models else found


SETTINGS = {field.name: _declared(field) for field in dataclasses.fields(TrainConfig)}


def _argument(name: str, value: Any) -> Any:
    """Returns what a constructor takes for the text of a flag."""
    if name == "norm" and value.isdecimal():
        return int(value)
    if name != "structure" or value in _STRUCTURES:
        return value
    try:
        return [[int(block) for block in term.split(",")] for term in value.split()]
    except ValueError as error:
        raise ConfigError(
            f"--structure must be one of {', '.join(_STRUCTURES)}, or terms such as '1,3,1 2,2,2'. "
            f"Received: {value!r}."
        ) from error


def _check_is_read(config: TrainConfig, field: dataclasses.Field) -> None:
    """Ignoring a setting would hide a mistake."""
    declared, value = SETTINGS[field.name], getattr(config, field.name)
    if value == field.default:
        return
    for by in ("recipe", "model"):
        readers, chosen = getattr(declared, f"{by}s"), getattr(config, by)
        if readers and chosen not in readers:
            flags = " and ".join(f"--{by}={name}" for name in readers)
            raise ConfigError(
                f"--{field.name} is a setting of {flags}; --{by}={chosen} does not read it. "
                f"Received: {value!r}. Leave it out."
            )


def _check_names(settings: Any) -> None:
    """Expects the JSON object of `TrainConfig.to_json`; settings added since may be missing."""
    if not isinstance(settings, dict) or "dataset" not in settings:
        raise ConfigError('expected a JSON object {"dataset": ..., ...}. Restore the file.')
    if "variant" in settings:
        raise ConfigError(
            "the run was made by 0.1.0, which had `variant` in place of `model`. Use 0.1.0 "
            f"for it, or train it again with --model={settings['variant']}."
        )
    unknown = sorted(settings.keys() - SETTINGS.keys())
    if unknown:
        raise ConfigError(
            f"this version has no setting {', '.join(map(repr, unknown))}. If a newer version wrote"
            " the file, use that version; otherwise correct the file."
        )


def resume(stored: TrainConfig, given: Mapping[str, Any]) -> TrainConfig:
    """Returns the stored settings with the given ones that may change.

    Raises:
        ConfigError: A given setting conflicts with the stored run; names all that do.
    """
    if conflicts := differences(stored, given, but_resumable=True):
        raise ConfigError(
            f"The run directory holds a run with other settings: {conflicts}. "
            "Leave these flags out to resume it, or choose another --run_dir."
        )
    return dataclasses.replace(stored, **given)


def differences(
    stored: TrainConfig, wanted: Mapping[str, Any], *, but_resumable: bool = False
) -> str:
    """Returns which of the wanted settings a run does not have, as part of a sentence.

    Args:
        stored: The settings of the run.
        wanted: Settings by name.
        but_resumable: Whether those that a resumed run may change are left out.
    """
    return "; ".join(
        f"{name} is {getattr(stored, name)!r} there, received {value!r}"
        for name, value in wanted.items()
        if value != getattr(stored, name) and not (but_resumable and SETTINGS[name].resumable)
    )
