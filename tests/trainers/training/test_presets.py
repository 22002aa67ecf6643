import pytest

from datasets.published.benchmarks import BENCHMARKS
from tests.documents import ROOT
from trainers.commands import command_of
from trainers.training import presets
from trainers.training.config import SETTINGS


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


def test_given_settings_go_over_the_preset():
    config = presets.resolve("wn18rr", "paper", {"embedding_dim": 8, "seed": 7})
    assert (config.embedding_dim, config.seed, config.epochs) == (8, 7, 8000)


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
    config = presets.resolve("wn18rr", presets.recipe_of_model(model), {"model": model})
    assert (config.norm == "2") == (model == "transe")


def test_models_without_a_preset_have_the_recipe_s():
    config = presets.resolve("fb15k237", "strong", {"model": "complex"})
    assert (config.embedding_dim, config.epochs, config.n3, config.dura) == (128, 30, 0.02, 0.0)
    # Quaternions only; the recipe's False would be refused.
    assert config.normalize_relations
    assert command_of(config).endswith("--dataset=fb15k237 --recipe=strong --model=complex")


@pytest.mark.parametrize(
    ("dataset", "given", "expected"),
    [
        ("wn18rr", {"n3": 0.2}, (0.2, 0.0)),
        ("wn18rr", {"n3": 0.0}, (0.0, 0.1)),
        ("wn18rr", {"dura": 0.2}, (0.0, 0.2)),
        ("wn18rr", {"n3": 0.02, "dura": 0.03}, (0.02, 0.03)),
        ("folder", {"dura": 0.2}, (0.0, 0.2)),
        ("folder", {"n3": 0.05, "dura": 0.2}, (0.05, 0.2)),
    ],
)
def test_a_given_regularizer_replaces_the_preset_s_other_one(dataset, given, expected):
    config = presets.resolve(dataset, "sampled", given)
    assert (config.n3, config.dura) == expected
    # The command says so: the same run again, from its flags alone.
    flags = [flag.removeprefix("--").split("=") for flag in command_of(config).split()[3:]]
    named = {name: float(value) for name, value in flags if name in ("n3", "dura")}
    assert presets.resolve(dataset, "sampled", named) == config


@pytest.mark.parametrize(
    ("dataset", "given", "note"),
    [
        (
            "wn18rr",
            {"n3": 0.05},
            "--n3=0.05 replaces the preset's dura=0.1; give --dura to use both.",
        ),
        (
            "umls",
            {"dura": 0.2},
            "--dura=0.2 replaces the preset's n3=0.005; give --n3 to use both.",
        ),
        ("wn18rr", {"n3": 0.05, "dura": 0.1}, ""),
        ("wn18rr", {"n3": 0.0}, ""),
        ("wn18rr", {"dura": 0.2}, ""),
        ("wn18rr", {}, ""),
    ],
)
def test_a_replaced_regularizer_is_named(dataset, given, note):
    assert presets.replacement_note(dataset, "sampled", given) == note


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("seed", "1"),
        ("embedding_dim", "128; some data sets 32 to 512"),
        ("num_candidates", "4096 (sampled), 1024 (self_adversarial); some data sets 8192"),
        ("n3", "0.02 (strong, sampled), 0 (self_adversarial); some data sets 0 to 0.1"),
        ("relation_prediction", "0; some data sets 0.3"),
        ("reciprocal", "true"),
        ("recipe", "paper for the data sets above, sampled for your own"),
        ("best_by", "hits@10 (paper), mrr (strong, sampled, self_adversarial)"),
    ],
)
def test_defaults_in_help_and_docs(name, text):
    assert presets.describe_defaults(name) == text


def weights_in_the_docs():
    """The rows of the table of weights: data set, recipe, N3, DURA."""
    page = (ROOT / "docs" / "recipes.md").read_text("utf-8")
    table = page.partition("| N3 | DURA |\n|---|---|---|---|\n")[2].partition("\n\n")[0]
    for line in table.splitlines():
        title, _, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        for recipe in ("strong", "sampled"):
            read = [cell if "(" not in cell or recipe in cell else "" for cell in cells]
            n3, dura = (float(cell.split()[0]) if cell else 0.0 for cell in read)
            yield title.lower().replace("-", ""), recipe, n3, dura


@pytest.mark.parametrize(("dataset", "recipe", "n3", "dura"), list(weights_in_the_docs()))
def test_the_docs_have_the_weights_of_the_presets(dataset, recipe, n3, dura):
    config = presets.resolve(dataset, recipe, {})
    assert (config.n3, config.dura) == (n3, dura)


def test_the_docs_have_the_weights_of_all_benchmarks():
    untuned = {"codex-s", "codex-m"}
    assert {dataset for dataset, *_ in weights_in_the_docs()} == set(BENCHMARKS) - untuned
