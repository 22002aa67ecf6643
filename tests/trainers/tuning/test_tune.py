"""The search as a person starts it, and that it never ranks the test split."""

import csv
import json

import pytest
from tensorboard.plugins.hparams import metadata

from datasets import catalog
from quatre_tf import Evaluator
from tests import commands
from tests.trainers.reporting.summary_events import plugin_content
from tests.trainers.training.misfortunes import export_little
from tests.trainers.training.survival import read_records
from tests.trainers.training.wiring import eagerly
from trainers.reporting.tensorboard.final import HPARAMS_FOLDER
from trainers.training.fitting import fit
from trainers.tuning.plan import Search
from trainers.tuning.search import run_search


def test_program_leaves_runs_and_figures(family, tmp_path):
    output = tmp_path / "tune"
    flags = [f"--dataset={family}", "--recipe=strong", f"--output={output}", "--trials=1"]
    fixed = ["--embedding_dim=4", "--batch_size=8", "--relation_prediction=0", "--epochs=2"]
    fixed += ["--validate_every=1", "--budget_minutes=30"]
    code, out = commands.run("trainers.tune", *flags, *fixed)
    assert code == 0, out
    assert "[1/1] trial-001-seed1: learning_rate=" in out
    assert f"TensorBoard: tensorboard --logdir={output}" in out
    rows = list(csv.DictReader((output / "trials.csv").open(encoding="utf-8")))
    assert [(row["run"], row["state"]) for row in rows] == [("trial-001-seed1", "completed")]
    validations = read_records(output / "trial-001-seed1", "valid/all")
    assert float(rows[0]["value"]) == max(record["mrr"] for record in validations)
    best = json.loads((output / "best.json").read_text())["configurations"][0]
    assert best["command"] in out
    assert not list(output.glob("*/test_metrics.json"))
    assert not list(output.glob("*/saved_model"))

    final = output / "trial-001-seed1" / "tensorboard" / HPARAMS_FOLDER
    content = plugin_content(final, metadata.SESSION_START_INFO_TAG)
    stored = metadata.parse_session_start_info_plugin_data(content).hparams
    assert stored["n3"].number_value == float(rows[0]["n3"])
    assert stored["learning_rate"].number_value == float(rows[0]["learning_rate"])


def test_test_split_is_not_ranked(strong_config, tmp_path, monkeypatch):
    export_little(monkeypatch)
    asked = []
    rank = Evaluator.rank

    def remember(self, model, split, max_triples=None):
        asked.append(split)
        return rank(self, model, split, max_triples)

    monkeypatch.setattr(Evaluator, "rank", remember)
    sizes = {"epochs": 2, "validate_every": 1}
    settings = {name: getattr(strong_config, name) for name in ("embedding_dim", "batch_size")}
    search = Search(strong_config.dataset, "strong", settings | sizes, trials=1)
    with eagerly():
        (result,) = run_search(search, catalog.load(search.dataset), tmp_path)
        assert result.state == "completed"
        assert asked == ["valid"] * 2
        assert not (result.path / "test_metrics.json").exists()
        # The winner needs no second training.
        fit(result.config, result.path, resume=True)
    assert "test" in asked[2:]
    assert (result.path / "saved_model" / "1").is_dir()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seeds=1,x"], "--seeds must be integers: 1,2,3. Received: 1,x."),
        (["--dataset=wn18r"], "Unknown dataset 'wn18r'. Did you mean 'wn18rr'"),
        ([], "The search needs the extra `tune`: pip install 'quatre-tf[tune]' (missing: optuna)."),
    ],
)
def test_mistakes_are_one_line_before_tensorflow(tmp_path, arguments, message):
    given = ["--dataset=umls", f"--output={tmp_path}", *arguments]
    exit_code, out, err = commands.launch_without("tensorflow optuna", "trainers.tune", *given)
    assert (exit_code, out) == (1, "")
    assert err.startswith(f"error: {message}")
    assert err.count("\n") == 1
