import re
import shlex

import pytest

from benchmarks import records
from datasets.catalog import BENCHMARKS
from tests.documents import ROOT
from trainers.commands import command_of
from trainers.training import presets
from trainers.training.config import SETTINGS, TrainConfig


@pytest.mark.parametrize(
    ("dataset", "n", "negatives", "rate", "l2", "epochs", "validate_every"),
    [
        ("wn18rr", 256, 5, 0.1, 0.5, 8000, 400),
        ("fb15k237", 384, 10, 0.1, 0.5, 2000, 200),
        ("wn18", 256, 10, 0.1, 0.1, 8000, 400),
        ("fb15k", 384, 5, 0.02, 0.05, 2000, 200),
    ],
)
def test_presets_are_the_reference_s(dataset, n, negatives, rate, l2, epochs, validate_every):
    config = presets.resolve(dataset, "paper", {})
    assert (config.embedding_dim, config.num_negatives) == (n, negatives)
    assert (config.learning_rate, config.l2, config.clip_norm) == (rate, l2, 0.5)
    assert (config.epochs, config.validate_every, config.patience) == (epochs, validate_every, 10)
    assert (config.steps_per_epoch, config.batch_size, config.corruption) == (100, 0, "bern")


def test_an_optimizer_that_is_not_the_preset_s_has_its_own_learning_rate():
    preset = presets.resolve("wn18rr", "strong", {})
    assert (preset.optimizer, preset.learning_rate) == ("adagrad", 0.2)
    assert presets.resolve("wn18rr", "strong", {"optimizer": "adagrad"}) == preset
    assert presets.resolve("wn18rr", "strong", {"optimizer": "adam"}).learning_rate == 0.001
    given = {"optimizer": "adam", "learning_rate": 0.01}
    assert presets.resolve("wn18rr", "strong", given).learning_rate == 0.01


@pytest.mark.parametrize("dataset", [*BENCHMARKS, "countries", "folder"])
def test_strong_presets(dataset):
    config = presets.resolve(dataset, "strong", {})
    assert (config.reciprocal, config.normalize_relations) == (True, False)
    assert (config.best_by, config.lr_decay, config.compute_dtype) == ("mrr", "linear", "bfloat16")
    assert (config.n3 > 0) != (config.dura > 0)


@pytest.mark.parametrize("model", SETTINGS["model"].choices)
def test_every_model_has_a_recipe_for_the_paper_s_tables(model):
    config = presets.resolve("wn18rr", presets.recipe_of_model(model, "wn18rr"), {"model": model})
    assert (config.norm == "2") == (model == "transe")


@pytest.mark.parametrize(
    ("dataset", "model", "recipe"),
    [
        ("wn18rr", "quatre", "sampled"),
        ("wn18rr", "rotate", "self_adversarial"),
        ("wn18", "rotate", "sampled"),
        ("fb15k237", "quatre", "strong"),
        ("fb15k237", "transe", "self_adversarial"),
        ("folder", "quatre", "sampled"),
        ("folder", "toruse", "self_adversarial"),
        ("folder", "convkb", "sampled"),
        ("folder", "rotate", "self_adversarial"),
    ],
)
def test_a_model_s_recipe_has_its_preset_for_the_data_set(dataset, model, recipe):
    assert presets.recipe_of_model(model, dataset) == recipe


@pytest.mark.parametrize(
    ("given", "opposite_dura"), [({}, 0.1), ({"dura": 0.2}, 0.1), ({"n3": 0.1}, 0.0)]
)
def test_n3_replaces_all_of_dura(given, opposite_dura):
    config = presets.resolve("wn18rr", "sampled", {"model": "rescal", **given})
    assert config.opposite_dura == opposite_dura


def test_models_without_a_preset_have_the_recipe_s():
    config = presets.resolve("wn18", "strong", {"model": "complex"})
    assert (config.embedding_dim, config.epochs, config.n3, config.dura) == (128, 30, 0.02, 0.0)
    # Quaternions only; the recipe's False would be refused.
    assert config.normalize_relations
    assert command_of(config).endswith("--dataset=wn18 --recipe=strong --model=complex")


@pytest.mark.parametrize(
    ("dataset", "given", "expected", "note"),
    [
        ("wn18rr", {}, (0.0, 0.1), ""),
        ("wn18rr", {"n3": 0.2}, (0.2, 0.0), "--n3=0.2 replaces the preset's dura=0.1; give --d"),
        ("wn18rr", {"n3": 0.0}, (0.0, 0.1), ""),
        ("wn18rr", {"dura": 0.2}, (0.0, 0.2), ""),
        ("wn18rr", {"n3": 0.02, "dura": 0.03}, (0.02, 0.03), ""),
        ("folder", {"dura": 0.2}, (0.0, 0.2), "--dura=0.2 replaces the preset's n3=0.02; give -"),
        ("folder", {"n3": 0.05, "dura": 0.2}, (0.05, 0.2), ""),
    ],
)
def test_a_given_regularizer_replaces_the_preset_s_other_one(dataset, given, expected, note):
    config = presets.resolve(dataset, "sampled", given)
    assert (config.n3, config.dura) == expected
    found = presets.replacement_note(dataset, "sampled", given)
    assert found.startswith(note)
    assert bool(found) == bool(note)
    # The command says so: the same run again, from its flags alone.
    flags = [flag.removeprefix("--").split("=") for flag in command_of(config).split()[3:]]
    named = {name: float(value) for name, value in flags if name in ("n3", "dura")}
    assert presets.resolve(dataset, "sampled", named) == config


def test_command_names_what_differs_from_the_preset():
    for dataset, recipe, given, flags in (
        ("wn18rr", "paper", {"patience": 0, "seed": 4}, "--patience=0 --seed=4"),
        ("umls", "strong", {"reciprocal": False}, "--recipe=strong --reciprocal=False"),
        ("wn18rr", "paper", {"model": "quate"}, "--model=quate"),
        ("wn18", "paper", {"budget_minutes": 3.0, "epochs": 5}, "--budget_minutes=3.0"),
    ):
        config = presets.resolve(dataset, recipe, given)
        assert command_of(config) == f"quatre fit --dataset={dataset} {flags}"
        presets.check_lengths(config, dict.fromkeys(re.findall(r"--(\w+)", flags)))
    config = presets.resolve("/tmp/my data; x", "paper", {})
    assert shlex.split(command_of(config))[2:] == ["--dataset=/tmp/my data; x", "--recipe=paper"]


def test_published_runs_have_the_commands_of_their_settings():
    """Also when presets are changed: whoever changes one says what the old one was."""
    for record in records.read(ROOT / "benchmarks" / "results"):
        assert record["command"] == command_of(TrainConfig(**record["config"])), record["file"]
