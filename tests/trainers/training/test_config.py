import pytest

from quatre_tf.errors import ConfigError
from tests.documents import ROOT
from trainers.training import config as configs
from trainers.training.presets import describe_defaults
from trainers.training.setting import GROUPS


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"epochs": 0}, "--epochs must be at least 1. Received: 0."),
        ({"model": "hole"}, "--model must be one of quatre, .* Received: 'hole'."),
        ({"learning_rate": 0.0}, "--learning_rate must be above 0. Received: 0.0."),
        ({"learning_rate": float("nan")}, "--learning_rate must be above 0. Received: nan."),
        ({"l2": -1.0}, "--l2 must be at least 0. Received: -1.0."),
        ({"l2": float("inf")}, r"--l2 must be at most 3.40282e\+38. Received: inf."),
        ({"learning_rate": 1e-45}, "--learning_rate must be at least 1.17549e-38, or 0. Received"),
        ({"steps_per_epoch": 0}, "--steps_per_epoch must be at least 1 with --recipe=paper."),
        ({"seed": 2**32}, "--seed must be at most 4294967295. Received: 4294967296."),
        ({"epochs": 10**24}, "--epochs must be at most 1000000000. Received: 10{24}."),
        ({"batch_size": 10**12}, "--batch_size must be at most 16777216."),
        ({"embedding_dim": 10**9}, "--embedding_dim must be at most 65536."),
        ({"epochs": 1.5}, "--epochs must be a whole number. Received: 1.5."),
        ({"epochs": True}, "--epochs must be a whole number. Received: True."),
        ({"reciprocal": 1}, "--reciprocal must be true or false. Received: 1."),
        ({"l2": None}, "--l2 must be a number. Received: None."),
        ({"l2": 10**400}, "--l2 must be at most .* Received: 10"),
        ({"model": 3}, "--model must be text. Received: 3."),
        ({"norm": "2"}, "--norm is a setting of .*--model=transe.*; --model=quatre does not read"),
    ],
)
def test_senseless_settings_are_refused(setting, message):
    with pytest.raises(ConfigError, match=message):
        configs.TrainConfig("countries", **setting)


def test_settings_page_has_the_declarations():
    page = (ROOT / "docs" / "settings.md").read_text("utf-8")
    rows = []
    for name, declared in sorted(
        configs.SETTINGS.items(), key=lambda item: GROUPS.index(item[1].group)
    ):
        default = "" if name == "dataset" else describe_defaults(name)
        meaning = declared.help + f" One of {', '.join(declared.choices)}." * bool(declared.choices)
        rows.append(f"| `--{name}` | {meaning} | {default} |")
    assert [line for line in page.splitlines() if line.startswith("| `--")] == rows


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "Expecting value"),
        ("[]", r'expected a JSON object \{"dataset": ...'),
        ("[" * 100_000, "recursion depth"),
        ('{"dataset": "x", "colour": 1}', "no setting 'colour'. If a newer version wrote the file"),
        (
            '{"dataset": "x", "variant": "quate", "label_smoothing": 0.0}',
            "made by 0\\.1\\.0, which had `variant` in place of `model`.* again with --model=quate",
        ),
        ('{"dataset": 5}', "--dataset must be text. Received: 5"),
    ],
)
def test_broken_config_file_is_named(tmp_path, text, problem):
    path = tmp_path / "config.json"
    path.write_text(text)
    message = rf"config\.json does not hold the settings of a run: .*{problem}"
    with pytest.raises(ConfigError, match=message) as error:
        configs.TrainConfig.from_file(path)
    assert "\n" not in str(error.value)


def test_dura_is_for_models_whose_queries_are_points():
    """A query of `transr` holds its matrix, which DURA would shrink."""
    with pytest.raises(ConfigError, match="--model=transr does not read it"):
        configs.TrainConfig("umls", "sampled", model="transr", reciprocal=True, dura=0.1)


def test_settings_that_came_later_have_their_defaults(tmp_path):
    (tmp_path / "config.json").write_text('{"dataset": "umls", "epochs": 3}')
    config = configs.TrainConfig.from_file(tmp_path / "config.json")
    assert config == configs.TrainConfig("umls", epochs=3)


def test_missing_config_file(tmp_path):
    with pytest.raises(ConfigError, match="is not a run directory"):
        configs.TrainConfig.from_file(tmp_path / "config.json")
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="file is not a run directory"):
        configs.TrainConfig.from_file(tmp_path / "file" / "config.json")


def test_resume_may_go_on_longer_but_not_differently():
    stored = configs.TrainConfig("countries", l2=0.3)
    assert configs.resume(stored, {"epochs": 999, "patience": 3}).epochs == 999
    with pytest.raises(ConfigError, match=r"seed is 1 there, received 2; l2 is 0\.3 there"):
        configs.resume(stored, {"seed": 2, "l2": 0.4})
    # The best value so far was measured with the policy of the run.
    with pytest.raises(ConfigError, match="tie_policy is 'realistic' there"):
        configs.resume(stored, {"tie_policy": "pessimistic"})
