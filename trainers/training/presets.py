"""Presets: default settings for a data set, model and recipe."""

from collections.abc import Mapping
from typing import Any

from quatre_tf.errors import ConfigError
from trainers.training.config import REGULARIZERS, SETTINGS, TrainConfig

# Settings that are not read beside `budget_minutes`.
REPLACED_BY_A_BUDGET = frozenset({"epochs", "validate_every"})
# The recipes with queries; chosen on validation splits (docs/recipes.md).
_QUERIES: dict[str, Any] = {
    "reciprocal": True,
    "normalize_relations": False,
    "init_scale": 1e-3,
    "embedding_dim": 128,
    "steps_per_epoch": 0,
    # For graphs without a preset. Dense ones suffer from more: 0.05 costs Kinship .13 of MRR.
    "n3": 0.02,
    "compute_dtype": "bfloat16",
    "lr_decay": "linear",
    "clip_norm": 0.0,
    "epochs": 30,
    "validate_every": 5,
    "best_by": "mrr",
    "patience": 0,
}
# An optimizer takes the learning rate with it.
_OF_OPTIMIZER: dict[str, dict[str, Any]] = {
    "adagrad": {"learning_rate": 0.1},
    "adam": {"learning_rate": 0.001},
}
_OF_RECIPE: dict[str, dict[str, Any]] = {
    "paper": {},
    "strong": _QUERIES,
    "sampled": _QUERIES,
    "self_adversarial": {
        **_QUERIES,
        "num_candidates": 1024,
        "margin": 6.0,
        "learning_rate": 0.6,
        "n3": 0.0,
    },
}

_WORDNET = {"embedding_dim": 256, "epochs": 8000, "validate_every": 400}
_FREEBASE = {"embedding_dim": 384, "epochs": 2000, "validate_every": 200}
_SMALL = {"embedding_dim": 512, "epochs": 200, "validate_every": 10}
# The models with quaternions, by recipe and data set. For the paper's four benchmarks, `paper` has
# the commands in the README of the reference implementation; the rest was chosen on validation
# splits.
_QUATERNIONS: dict[str, dict[str, dict[str, Any]]] = {
    "paper": {
        "wn18rr": {**_WORDNET, "num_negatives": 5, "l2": 0.5},
        "fb15k237": {**_FREEBASE, "num_negatives": 10, "l2": 0.5},
        "wn18": {**_WORDNET, "num_negatives": 10, "l2": 0.1},
        "fb15k": {**_FREEBASE, "num_negatives": 5, "l2": 0.05, "learning_rate": 0.02},
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
        "umls": {**_SMALL, "n3": 0.0, "dura": 0.026},
        "kinship": {**_SMALL, "n3": 0.01},
        "nations": {**_SMALL, "n3": 0.022},
    },
    "sampled": {
        "wn18rr": {"embedding_dim": 256, "n3": 0.0, "dura": 0.1},
        "fb15k237": {"embedding_dim": 512, "n3": 0.05},
        "wn18": {
            "embedding_dim": 384,
            "learning_rate": 0.15,
            "n3": 0.0,
            "dura": 0.05,
            "validate_every": 10,
        },
        "fb15k": {"embedding_dim": 256, "num_candidates": 8192, "learning_rate": 0.2, "n3": 0.0075},
        "umls": {"n3": 0.005},
        "codex-s": {
            "embedding_dim": 512,
            "batch_size": 494,
            "max_answers": 4,
            "n3": 0.014,
            "epochs": 24,
            "validate_every": 8,
        },
        "codex-m": {
            "embedding_dim": 512,
            "batch_size": 250,
            "num_candidates": 8192,
            "n3": 0.015,
            "relation_prediction": 0.125,
            "lr_decay": "late",
            "epochs": 40,
            "validate_every": 8,
        },
    },
}
_FB15K237 = {
    "n3": 0.0,
    "dura": 0.06,
    "relation_prediction": 0.3,
    "epochs": 20,
    "validate_every": 4,
}
_SHORT = {"epochs": 12, "validate_every": 6}
_FB15K = {"num_candidates": 2048, "learning_rate": 0.2, "n3": 0.0075}
_COMPLEX_FB15K = {
    "embedding_dim": 512,
    "batch_size": 488,
    "max_answers": 4,
    "n3": 0.0075,
    "lr_decay": "late",
}
_DISTANCE = {"n3": 0.0, "learning_rate": 0.3, "num_candidates": 2048, "epochs": 20}
_TRANSE = {**_DISTANCE, "embedding_dim": 512, "norm": "2"}
_PROJECTED = {**_DISTANCE, "embedding_dim": 100, "learning_rate": 0.1}
_PROJECTED_NARROW = {**_PROJECTED, "embedding_dim": 50, "num_candidates": 512, "epochs": 10}
_ROTATE = {**_DISTANCE, "embedding_dim": 256, "init_scale": 0.05}
_DURA = {"dura": 0.06, "opposite_dura": 0.06}
_RESCAL = {
    "embedding_dim": 256,
    "batch_size": 300,
    "init_scale": 0.0,
    "n3": 0.0,
    "dura": 0.1,
    "opposite_dura": 0.1,
}
# For data sets that have no settings of their own.
_ANY = ""
# Entities begin all around the torus.
_TORUSE = {
    "embedding_dim": 512,
    "init_scale": 0.3,
    "learning_rate": 0.15,
    "margin": 20.0,
    "temperature": 0.3,
    "epochs": 24,
    "validate_every": 8,
}
# Candidates and filters cost ConvKB far more than they do other models.
_CONVKB = {
    "num_filters": 4,
    "num_candidates": 512,
    "init_scale": 0.01,
    "n3": 0.0,
    "epochs": 16,
    "validate_every": 4,
}
_CONVE = {
    "embedding_dim": 200,
    "n3": 0.0,
    "optimizer": "adam",
    "learning_rate": 0.003,
    "init_scale": 0.05,
    "epochs": 40,
    "validate_every": 20,
}
_CONVE_SMALL_STEPS = {**_CONVE, "learning_rate": 0.0015, "batch_size": 300}
_SPLIT_QUERIES = {"batch_size": 1083, "max_answers": 4}
_AFFINE = {
    **_QUATERNIONS["sampled"],
    "wn18rr": {
        **_QUATERNIONS["sampled"]["wn18rr"],
        **_SPLIT_QUERIES,
        "dura": 0.12,
        "query_dropout": 0.3,
        "lr_decay": "late",
    },
    "wn18": {
        **_QUATERNIONS["sampled"]["wn18"],
        **_SPLIT_QUERIES,
        "learning_rate": 0.1,
        "dura": 0.06,
        "epochs": 28,
        "validate_every": 7,
    },
}
# The other models, most with less tuning than QuatRE had (benchmarks/attempts.md).
_OTHERS: dict[str, dict[str, dict[str, dict[str, Any]]]] = {
    "distmult": {
        "strong": {"fb15k237": {**_FB15K237, "embedding_dim": 1024}},
        "sampled": {
            "wn18rr": {"embedding_dim": 512, "n3": 0.0, "dura": 0.1, "epochs": 20},
            "wn18": {"embedding_dim": 512, "num_candidates": 2048, **_SHORT},
            "fb15k": {**_FB15K, "embedding_dim": 512, "epochs": 26, "validate_every": 13},
        },
    },
    "complex": {
        "strong": {
            "fb15k237": {**_FB15K237, "embedding_dim": 512},
            "fb15k": {**_COMPLEX_FB15K, "epochs": 25},
        },
        "sampled": {
            "wn18rr": {"embedding_dim": 512, "n3": 0.0, "dura": 0.1},
            "fb15k237": {
                "embedding_dim": 1024,
                "batch_size": 377,
                "max_answers": 4,
                "learning_rate": 0.2,
                "n3": 0.05,
                "relation_prediction": 4.0,
                "lr_decay": "late",
                "epochs": 90,
                "validate_every": 9,
            },
            "wn18": {"embedding_dim": 384, "learning_rate": 0.15, "n3": 0.05, **_SHORT},
            "fb15k": {**_COMPLEX_FB15K, "epochs": 30, "validate_every": 6},
        },
    },
    "autosf": {
        "strong": {"fb15k237": {**_FB15K237, "embedding_dim": 256}},
        "sampled": {"wn18rr": {"embedding_dim": 256, "n3": 0.0, "dura": 0.1}},
    },
    "rescal": {
        "strong": {
            "fb15k237": {
                **_RESCAL,
                **_DURA,
                "embedding_dim": 200,
                "batch_size": 0,
                "epochs": 16,
                "validate_every": 4,
            }
        },
        "sampled": {"wn18rr": {**_RESCAL, "epochs": 100, "validate_every": 10}},
    },
    "transe": {
        "sampled": {
            "wn18rr": _TRANSE,
            "wn18": {**_TRANSE, **_SHORT},
            "fb15k": {**_TRANSE, "num_candidates": 1024, "epochs": 8, "validate_every": 4},
        },
        "self_adversarial": {
            "fb15k237": {
                "embedding_dim": 512,
                "norm": "1",
                "margin": 6.75,
                "temperature": 2.0,
                "learning_rate": 0.03,
                "epochs": 40,
                "validate_every": 8,
            }
        },
    },
    "rotate": {
        "sampled": {
            "wn18rr": _ROTATE,
            "wn18": {**_ROTATE, "epochs": 30, "validate_every": 10},
        },
        "self_adversarial": {
            "wn18rr": {"embedding_dim": 256, "epochs": 16, "validate_every": 8},
            "fb15k237": {"embedding_dim": 512, "epochs": 24, "validate_every": 8},
            # The settings of the recipe.
            _ANY: {},
        },
    },
    "toruse": {"self_adversarial": {_ANY: _TORUSE}},
    "transr": {
        "sampled": {
            "wn18rr": {**_PROJECTED, "learning_rate": 0.2, "num_candidates": 4096},
            "fb15k237": _PROJECTED_NARROW,
        }
    },
    "stranse": {
        "sampled": {
            "wn18rr": _PROJECTED,
            "fb15k237": _PROJECTED_NARROW,
            "wn18": {**_PROJECTED_NARROW, "num_candidates": 1024},
            "fb15k": {**_PROJECTED_NARROW, "epochs": 8, "validate_every": 4},
        }
    },
    "murp": {
        "sampled": {
            "wn18rr": {**_DISTANCE, "embedding_dim": 128, "n3": 30.0, "validate_every": 5},
            "fb15k237": {**_DISTANCE, "embedding_dim": 200, "epochs": 8, "validate_every": 4},
        }
    },
    "convkb": {
        "sampled": {_ANY: _CONVKB},
        "self_adversarial": {
            "fb15k237": {
                "num_filters": 4,
                "num_candidates": 256,
                "init_scale": 0.01,
                "margin": 6.75,
                "temperature": 2.0,
                "learning_rate": 0.03,
                "epochs": 20,
            }
        },
    },
    "conve": {
        "strong": {"fb15k237": {**_CONVE_SMALL_STEPS, "epochs": 20, "validate_every": 5}},
        "sampled": {
            "wn18rr": _CONVE,
            "wn18": {
                **_CONVE_SMALL_STEPS,
                "num_candidates": 2048,
                "epochs": 30,
                "validate_every": 10,
            },
            "fb15k": {
                **_CONVE_SMALL_STEPS,
                "num_candidates": 2048,
                "epochs": 14,
                "validate_every": 7,
            },
        },
    },
}
# Where all entities are worth their time as candidates.
_FEW_ENTITIES = ("fb15k237", "umls", "kinship", "nations")
# By model. Where a model or a data set is missing, the settings of the recipe hold.
_OF_MODEL = {
    **{name: _QUATERNIONS for name in SETTINGS["model"].choices if name.startswith("quat")},
    "quatre_affine": {**_QUATERNIONS, "sampled": _AFFINE},
    **_OTHERS,
}


def default_recipe(dataset: str) -> str:
    """Returns the recipe of a data set where none is given: `paper` only if it has its preset."""
    return "paper" if has_preset(dataset, "paper") else "sampled"


def has_preset(dataset: str, recipe: str) -> bool:
    """Returns whether the models with quaternions have settings for a data set and recipe."""
    return dataset in _QUATERNIONS.get(recipe, {})


def recipe_of_model(model: str, dataset: str) -> str:
    """Returns the recipe that is best for a model in short runs, of those with a preset.

    Without a preset, returns the recipe that is best on other data sets.
    """
    recipes = ["self_adversarial", "sampled", "strong"]
    if dataset in _FEW_ENTITIES:
        recipes.reverse()
    for name in (dataset, _ANY):
        for recipe in recipes:
            if name in _OF_MODEL.get(model, {}).get(recipe, {}):
                return recipe
    return "sampled"


def resolve(dataset: str, recipe: str, given: Mapping[str, Any]) -> TrainConfig:
    """Returns the preset of a data set, model and recipe with the given settings put over it.

    A given `n3` or `dura` replaces the preset's other one: the sum of the preset's weight of one
    and a usual weight of the other would drive a model to zero. Give both to use both.

    Args:
        dataset: Name in the catalog, or path of a folder, which has the preset of the recipe.
        recipe: A choice of the setting `recipe`.
        given: Settings of `TrainConfig` but these two.

    Raises:
        ConfigError: A setting is not what it may be.
    """
    preset = _preset(dataset, recipe, given)
    replaced = dict.fromkeys(_replaced(preset, given), 0.0)
    if "dura" in replaced:
        replaced["opposite_dura"] = 0.0
    return TrainConfig(dataset=dataset, recipe=recipe, **{**preset, **replaced, **given})


def check_lengths(config: TrainConfig, given: Mapping[str, Any]) -> None:
    """Raises ConfigError for lengths that are given and that a budget replaces."""
    replaced = [f"--{name}" for name in sorted(REPLACED_BY_A_BUDGET) if name in given]
    if config.budget_minutes and replaced:
        raise ConfigError(
            f"--budget_minutes={config.budget_minutes:g} is in the place of {replaced[0]}. Leave "
            "one of them out; --budget_minutes=0 sets no limit."
        )


def replacement_note(dataset: str, recipe: str, given: Mapping[str, Any]) -> str:
    """Returns the sentence that says which regularizer of the preset `resolve` replaces, or ""."""
    preset = _preset(dataset, recipe, given)
    return "".join(
        f"--{name}={given[name]:g} replaces the preset's {other}={preset[other]:g}; "
        f"give --{other} to use both."
        for other in _replaced(preset, given)
        for name in REGULARIZERS
        if given.get(name)
    )


def describe_defaults(name: str) -> str:
    """Returns the value of a setting by recipe, then its range in the presets of data sets."""
    if name == "recipe":
        return "paper if the data set has a preset for it, otherwise sampled or what --auto chooses"
    default, recipes = getattr(TrainConfig, name), SETTINGS[name].recipes or tuple(_OF_RECIPE)
    by_value: dict[str, list[str]] = {}
    for recipe in recipes:
        by_value.setdefault(_text(_OF_RECIPE[recipe].get(name, default)), []).append(recipe)
    texts = list(by_value)
    if len(by_value) > 1:
        texts = [f"{value} ({', '.join(readers)})" for value, readers in by_value.items()]
    presets = [preset for recipe in recipes for preset in _QUATERNIONS.get(recipe, {}).values()]
    values = sorted(preset[name] for preset in presets if name in preset)
    if values:
        ends = dict.fromkeys(map(_text, (values[0], values[-1])))
        texts[-1] += f"; some data sets: {' to '.join(ends)}"
    return ", ".join(texts)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _preset(dataset: str, recipe: str, given: Mapping[str, Any]) -> dict[str, Any]:
    model = given.get("model", TrainConfig.model)
    of_recipe = _OF_MODEL.get(model, {}).get(recipe, {})
    of_dataset = of_recipe.get(dataset, of_recipe.get(_ANY, {}))
    preset = {**_OF_RECIPE.get(recipe, {}), **of_dataset}
    usual = preset.get("optimizer", TrainConfig.optimizer)
    if given.get("optimizer", usual) != usual:
        preset |= _OF_OPTIMIZER.get(given["optimizer"], {})
    return {
        name: value for name, value in preset.items() if SETTINGS[name].is_read_by(recipe, model)
    }


def _replaced(preset: Mapping[str, Any], given: Mapping[str, Any]) -> list[str]:
    """Returns the regularizers of the preset that a given one replaces."""
    if not any(given.get(name) for name in REGULARIZERS):
        return []
    return [name for name in REGULARIZERS if preset.get(name) and name not in given]
