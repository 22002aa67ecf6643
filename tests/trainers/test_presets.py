import pytest

from trainers import presets


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


@pytest.mark.parametrize("dataset", ["wn18rr", "fb15k237", "wn18", "fb15k", "countries", "folder"])
def test_strong_presets(dataset):
    config = presets.resolve(dataset, "strong", {})
    assert (config.reciprocal, config.normalize_relations) == (True, False)
    assert (config.best_by, config.lr_decay, config.compute_dtype) == ("mrr", "linear", "bfloat16")
    assert config.n3 > 0
