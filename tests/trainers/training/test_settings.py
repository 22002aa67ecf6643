"""What every setting of a run changes: that, and nothing else."""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from quatre_tf.errors import ConfigError
from tests.trainers.training import wiring
from trainers.training.config import TrainConfig
from trainers.training.recipes import RECIPES

_COMMON = TrainConfig(
    "tiny",
    embedding_dim=2,
    init_scale=0.3,
    batch_size=6,
    steps_per_epoch=4,
    lr_decay="linear",
    epochs=6,
    validate_every=1,
    patience=0,
)
BASES = {
    "paper": _COMMON,
    "strong": dataclasses.replace(_COMMON, recipe="strong"),
    "sampled": dataclasses.replace(_COMMON, recipe="sampled", num_candidates=5),
    "self_adversarial": dataclasses.replace(_COMMON, recipe="self_adversarial", num_candidates=5),
}
SAMPLED, SOFTMAX = ("sampled", "self_adversarial"), ("strong", "sampled")
QUERIES = ("strong", *SAMPLED)
ALL = ("paper", *QUERIES)


@dataclasses.dataclass(frozen=True)
class Change:
    """Another value of a setting.

    Attributes:
        value: It.
        parts: What it changes, of `observe`.
        read_by: The recipes that read the setting; the others refuse it.
        base: Settings that it needs.
    """

    value: Any
    parts: set[str]
    read_by: tuple[str, ...] = ALL
    base: Mapping[str, Any] = dataclasses.field(default_factory=dict)


_CONVE = {"model": "conve", "reciprocal": True, "embedding_dim": 6}
CHANGES = {
    "dataset": Change("another", {"dataset"}),
    "model": Change("quatre_head", {"tables", "objective"}),
    "reciprocal": Change(True, {"tables", "objective"}, QUERIES),
    "normalize_relations": Change(False, {"objective"}),
    "norm": Change("2", {"objective"}, base={"model": "transe"}),
    "structure": Change("wn18", {"objective"}, base={"model": "autosf"}),
    "relation_dim": Change(3, {"tables", "objective"}, base={"model": "transr"}),
    **{
        name: Change(0.5, {"objective"}, QUERIES, _CONVE)
        for name in ("input_dropout", "feature_map_dropout", "hidden_dropout")
    },
    "num_filters": Change(3, {"tables", "objective"}, base={"model": "convkb"}),
    "embedding_dim": Change(3, {"tables", "objective"}),
    "init_scale": Change(0.0, {"tables"}),
    "num_negatives": Change(7, {"batches", "objective"}, ("paper",)),
    "corruption": Change("uniform", {"batches"}, ("paper",)),
    "batch_size": Change(5, {"batches", "objective"}),
    "max_answers": Change(1, {"batches", "objective"}, SOFTMAX),
    "num_candidates": Change(7, {"batches"}, SAMPLED),
    "margin": Change(2.0, {"objective"}, ("self_adversarial",)),
    "temperature": Change(0.5, {"objective"}, ("self_adversarial",)),
    "steps_per_epoch": Change(3, {"plan"}),
    "optimizer": Change("adam", {"optimizer"}),
    "learning_rate": Change(0.2, {"optimizer"}),
    "lr_decay": Change("none", {"optimizer"}),
    "l2": Change(0.2, {"objective"}, ("paper",)),
    "n3": Change(0.1, {"objective"}, QUERIES),
    "dura": Change(0.1, {"objective"}, QUERIES),
    "opposite_dura": Change(0.1, {"objective"}, QUERIES),
    "query_dropout": Change(0.5, {"objective"}, SOFTMAX),
    "relation_prediction": Change(0.5, {"objective"}, SOFTMAX),
    "compute_dtype": Change("bfloat16", {"objective"}, QUERIES),
    "clip_norm": Change(0.0, {"optimizer"}),
    "epochs": Change(5, {"plan"}),
    "budget_minutes": Change(0.5, {"plan"}),
    "validate_every": Change(2, {"plan"}),
    "best_by": Change("mrr", {"choice"}),
    "patience": Change(2, {"plan"}),
    "tie_policy": Change("pessimistic", {"evaluator"}),
    "strategy": Change("one_device", {"strategy"}),
    "num_replicas": Change(1, {"strategy"}, base={"strategy": "mirrored"}),
    "deterministic": Change(True, {"determinism"}),
    "seed": Change(2, {"tables", "batches", "evaluator"}),
}


@pytest.fixture(scope="module", autouse=True)
def _eager():
    with wiring.eagerly():
        yield


@pytest.fixture(scope="module")
def graph():
    return wiring.tiny_graph()


@pytest.fixture(scope="module")
def observed(graph, tmp_path_factory):
    """`observed(config)` -> `observe`, once for equal settings."""
    trainers = {recipe: wiring.trainer_of(base, graph) for recipe, base in BASES.items()}
    batches = {recipe: wiring.batch_of(trainer, 0) for recipe, trainer in trainers.items()}

    @functools.cache
    def get(config):
        folder = tmp_path_factory.mktemp("observed")
        return observe(config, graph, batches[config.recipe], folder / "run")

    return get


def observe(config, graph, batch, folder):
    """Everything that settings decide, by part; `batch` is for the objective."""
    run = wiring.outer_loop(config, graph, folder)
    # In the loop, steps took time and nothing else.
    trainer = run.trainer
    initial = [table.numpy() for table in trainer.state["tables"]]
    # Where a decay ends is part of the plan.
    trainer.last_step.assign(24)
    rates = []
    for step in (0, 1, 7):
        trainer.optimizer.iterations.assign(step)
        rates.append(trainer.optimizer.learning_rate.numpy())
    return {
        "tables": initial,
        "batches": wiring.batch_of(trainer, 1),
        "objective": objective_of(trainer, batch),
        "optimizer": [trainer.optimizer.name, rates, trainer.optimizer.global_clipnorm],
        "plan": [run.validations, run.end, run.decay_ends],
        "choice": run.best,
        "evaluator": run.evaluator,
        "dataset": run.dataset,
        "strategy": run.strategy,
        "determinism": run.determinism,
    }


def objective_of(trainer, batch):
    """Loss, regularization and gradients for tables and a batch that no setting decides."""
    rng = np.random.default_rng(1)
    for table in trainer.state["tables"]:
        table.assign(rng.normal(size=table.shape).astype(np.float32) / 2)
    found = trainer.recipe.objective(trainer.model, batch)
    gradients = [
        np.asarray(gradient.values if isinstance(gradient, tf.IndexedSlices) else gradient)
        for gradient in found.gradients
    ]
    return [found.loss, found.regularization, gradients]


def test_every_setting_is_tested():
    """`recipe` has a test of its own below."""
    fields = {field.name for field in dataclasses.fields(TrainConfig)}
    assert {*CHANGES, "recipe"} == fields


def test_every_recipe_is_tested():
    assert set(BASES) == set(RECIPES)


@pytest.mark.parametrize(
    ("base", "other"), [("paper", "strong"), ("paper", "sampled"), ("strong", "sampled")]
)
def test_a_recipe_changes_batches_and_objective(base, other, observed):
    found = observed(BASES[base])
    assert wiring.differing(found, observed(BASES[other])) == {"batches", "objective"}


@pytest.mark.parametrize("name", CHANGES)
def test_a_flag_sets_its_setting(name, tmp_path):
    change = CHANGES[name]
    value = str(tmp_path) if name == "dataset" else change.value
    given = {"dataset": tmp_path, "recipe": change.read_by[0], **change.base, name: value}
    config = wiring.config_of(*[f"--{key}={value}" for key, value in given.items()])
    assert getattr(config, name) == value
    assert config.recipe == change.read_by[0]


def recipes_to_try(change):
    """Those that read it; of what comes after the recipe, the first and the last are enough."""
    of_recipe = change.parts & {"tables", "batches", "objective"}
    return change.read_by if of_recipe else sorted({change.read_by[0], change.read_by[-1]})


@pytest.mark.parametrize(
    ("recipe", "name"),
    [(recipe, name) for name, change in CHANGES.items() for recipe in recipes_to_try(change)],
)
def test_a_setting_changes_what_it_should_and_nothing_else(recipe, name, observed):
    change = CHANGES[name]
    base = dataclasses.replace(BASES[recipe], **change.base)
    changed = dataclasses.replace(base, **{name: change.value})
    assert wiring.differing(observed(base), observed(changed)) == change.parts


@pytest.mark.parametrize(
    ("recipe", "name"),
    [
        (recipe, name)
        for name, change in CHANGES.items()
        for recipe in ALL
        if recipe not in change.read_by
    ],
)
def test_a_recipe_refuses_what_it_does_not_read(recipe, name):
    with pytest.raises(ConfigError, match=f"--{name} is a setting of"):
        dataclasses.replace(BASES[recipe], **{name: CHANGES[name].value})
