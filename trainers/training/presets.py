"""The presets: the settings of a data set and recipe where nothing else is asked for."""

from collections.abc import Mapping
from typing import Any

from trainers.training.config import REGULARIZERS, TrainConfig

# What the recipes with a softmax are; chosen on validation splits (docs/recipes.md).
_SOFTMAX: dict[str, Any] = {
    "reciprocal": True,
    "normalize_relations": False,
    "init_scale": 1e-3,
    "embedding_dim": 128,
    "steps_per_epoch": 0,
    # For graphs without a weight of their own: 0.05 costs Kinship .13 of MRR (docs/recipes.md).
    "n3": 0.02,
    "compute_dtype": "bfloat16",
    "lr_decay": "linear",
    "clip_norm": 0.0,
    "epochs": 30,
    "validate_every": 5,
    "best_by": "mrr",
    "patience": 0,
}
_OF_RECIPE: dict[str, dict[str, Any]] = {"paper": {}, "strong": _SOFTMAX, "sampled": _SOFTMAX}

# Where a data set wants something else. For the paper's four benchmarks `paper` has the README
# commands of the reference implementation; the rest was chosen on validation splits.
_OF_DATASET: dict[str, dict[str, dict[str, Any]]] = {
    "paper": {
        "wn18rr": {
            "embedding_dim": 256,
            "num_negatives": 5,
            "l2": 0.5,
            "epochs": 8000,
            "validate_every": 400,
        },
        "fb15k237": {
            "embedding_dim": 384,
            "num_negatives": 10,
            "l2": 0.5,
            "epochs": 2000,
            "validate_every": 200,
        },
        "wn18": {
            "embedding_dim": 256,
            "num_negatives": 10,
            "l2": 0.1,
            "epochs": 8000,
            "validate_every": 400,
        },
        "fb15k": {
            "embedding_dim": 384,
            "num_negatives": 5,
            "l2": 0.05,
            "learning_rate": 0.02,
            "epochs": 2000,
            "validate_every": 200,
        },
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
    },
    "strong": {
        "wn18rr": {
            "embedding_dim": 256,
            "learning_rate": 0.2,
            "n3": 0.1,
            "epochs": 16,
            "validate_every": 4,
        },
        "fb15k237": {
            "embedding_dim": 512,
            "n3": 0.0,
            "dura": 0.06,
            "relation_prediction": 0.3,
            "epochs": 24,
            "validate_every": 4,
        },
        "wn18": {
            "embedding_dim": 384,
            "learning_rate": 0.2,
            "n3": 0.05,
            "epochs": 8,
            "validate_every": 4,
        },
        "fb15k": {
            "embedding_dim": 384,
            "learning_rate": 0.2,
            "n3": 0.0,
            "dura": 0.012,
            "epochs": 14,
            "validate_every": 2,
        },
        "umls": {"n3": 0.005},
    },
    "sampled": {
        "wn18rr": {"embedding_dim": 256, "n3": 0.0, "dura": 0.1},
        "fb15k237": {"embedding_dim": 512, "n3": 0.05},
        "wn18": {"embedding_dim": 384, "learning_rate": 0.15, "n3": 0.05, "validate_every": 10},
        "fb15k": {
            "embedding_dim": 256,
            "num_candidates": 8192,
            "learning_rate": 0.2,
            "n3": 0.0075,
        },
        "umls": {"n3": 0.005},
    },
}


def resolve(dataset: str, recipe: str, given: Mapping[str, Any]) -> TrainConfig:
    """Returns the preset of (dataset, recipe) with the given settings put over it.

    Of N3 and DURA, one that is given takes the place of the preset's; both together are had by
    giving both.

    Args:
        dataset: Name in the catalogue, or path of a folder, which has the preset of the recipe.
        recipe: One of `trainers.training.config.CHOICES["recipe"]`.
        given: Settings of `TrainConfig` but these two.

    Raises:
        ConfigError: A setting is not what it may be.
    """
    preset = {**_OF_RECIPE.get(recipe, {}), **_OF_DATASET.get(recipe, {}).get(dataset, {})}
    # The preset's weight of one and a usual one of the other would drive a model to zero.
    if any(given.get(name) for name in REGULARIZERS):
        preset = {name: value for name, value in preset.items() if name not in REGULARIZERS}
    return TrainConfig(dataset=dataset, recipe=recipe, **{**preset, **given})
