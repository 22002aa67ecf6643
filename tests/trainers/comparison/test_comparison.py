"""Comparisons of models on a tiny graph: runs, interruptions, results, and their tables."""

import dataclasses
import json
import shutil

import numpy as np
import pytest

from datasets import catalog
from quatre_tf import CANDIDATE_SETS, METRICS, Results, Row
from quatre_tf.errors import ConfigError, DataError
from tests.trainers.training.misfortunes import export_little
from tests.trainers.training.wiring import eagerly
from trainers.comparison import run as comparing
from trainers.comparison.page import comparison_page
from trainers.comparison.plan import Comparison
from trainers.comparison.published import paper_models, published_rows
from trainers.comparison.run import evaluate_models, run_comparison
from trainers.comparison.text import comparison_text
from trainers.training.fitting import fit

MODELS = ("quatre", "quate", "quatre_head", "quatre_tail")
BUDGET = {
    "embedding_dim": 4,
    "num_negatives": 2,
    "batch_size": 8,
    "steps_per_epoch": 2,
    "epochs": 2,
    "validate_every": 1,
}


@pytest.fixture(scope="module", autouse=True)
def _quick():
    """Without compiled steps and without real exports."""
    with pytest.MonkeyPatch.context() as patch, eagerly():
        export_little(patch)
        yield


@pytest.fixture(scope="module")
def plan(family):
    """All variants with one seed."""
    return Comparison(str(family), MODELS, (5,), settings=BUDGET)


@pytest.fixture(scope="module")
def finished(plan, tmp_path_factory):
    """The folder and the figures of the whole ablation; not to be changed."""
    output = tmp_path_factory.mktemp("finished")
    return output, run_comparison(plan, output)


@pytest.fixture
def output(finished, tmp_path):
    """A copy of the finished ablation."""
    return shutil.copytree(finished[0], tmp_path / "out")


@pytest.fixture
def calls(monkeypatch):
    """Takes the place of training: the runs that were to be trained, and whether resumed."""
    made = []

    def remember(config, run_dir, *, resume, **_):
        made.append((run_dir.name, resume, run_dir.exists()))
        raise KeyboardInterrupt

    monkeypatch.setattr(comparing, "fit", remember)
    return made


def test_every_model_has_its_runs_and_its_rows(plan, finished):
    output, results = finished
    assert Results.load(output / "comparison.json") == results
    for model in MODELS:
        config = json.loads((output / f"{model}-seed5" / "config.json").read_text())
        assert (config["model"], config["seed"], config["epochs"]) == (model, 5, 2)
        tested = Results.load(output / f"{model}-seed5" / "test_metrics.json").metrics()
        # With one seed the mean is the run's.
        assert results.metrics(run=model) == tested
        assert results.metrics(run=f"{model}-seed5") == tested
    text = comparison_text(plan, results)
    assert (output / "comparison.txt").read_text() == text + "\n"
    assert (output / "comparison.html").read_text().startswith("<!DOCTYPE html>")
    rows = [row.split()[0] for row in text.splitlines() if row.startswith("quat")]
    assert tuple(rows[:4]) == MODELS
    assert (output / "comparison.csv").read_text().count("\n") == 1 + len(results.rows)


def test_differences_are_from_the_first_model(finished):
    _, results = finished
    assert {row.run for row in results.select(baseline="quatre")} == set(MODELS[1:])
    for candidates in CANDIDATE_SETS:
        place = {"candidates": candidates, "side": "tail"}
        found = results.find("mrr", run="quate", baseline="quatre", **place)
        one, other = (results.metrics(run=run, **place)["mrr"] for run in ("quate", "quatre"))
        assert found.value == pytest.approx(one - other)
        assert found.low <= found.value <= found.high
        assert 0 < found.p_value <= 1


def test_costs(finished):
    """24 entities and three relations of four quaternions; a rotation is another table."""
    _, results = finished
    place = {"candidates": "", "side": ""}
    parameters = [results.find("parameters", run=model, **place).value for model in MODELS]
    assert parameters == [16 * (24 + 3 * 3), 16 * (24 + 3), 16 * (24 + 2 * 3), 16 * (24 + 2 * 3)]
    assert results.find("floats_per_entity", run="quate", **place).value == 16
    assert 0 < results.find("minutes", run="quate", **place).value < 10


def test_finished_runs_are_read_not_repeated(plan, finished, output, calls, capsys):
    assert run_comparison(plan, output) == finished[1]
    assert calls == []
    assert capsys.readouterr().out.count("Finished before.") == 4


def test_interrupted_run_is_resumed(plan, finished, output):
    run_dir, config = output / "quatre-seed5", plan.configs()["quatre-seed5"]
    shutil.rmtree(run_dir)
    # As if it had been stopped at the first of its two epochs.
    fit(dataclasses.replace(config, epochs=1), run_dir)
    (run_dir / "config.json").write_text(config.to_json())
    (run_dir / "test_metrics.json").unlink()
    again = run_comparison(plan, output)
    # It took other minutes.
    assert [row for row in again.rows if row.metric != "minutes"] == [
        row for row in finished[1].rows if row.metric != "minutes"
    ]


@pytest.mark.parametrize(
    ("lost", "resumed"), [(["checkpoints"], True), (["checkpoints", "best"], False)]
)
def test_only_a_run_without_a_model_starts_again(plan, output, calls, lost, resumed):
    run_dir = output / "quate-seed5"
    (run_dir / "test_metrics.json").unlink()
    for name in lost:
        shutil.rmtree(run_dir / name)
    with pytest.raises(KeyboardInterrupt):
        run_comparison(plan, output)
    assert calls == [("quate-seed5", resumed, resumed)]


def test_another_budget_is_refused_before_any_training(plan, output, calls):
    shutil.rmtree(output / "quatre-seed5")
    other = dataclasses.replace(plan, settings={**BUDGET, "epochs": 3, "l2": 0.1})
    with pytest.raises(
        ConfigError, match=r"quate-seed5 holds .*: l2 is 0\.5 there, received 0\.1; epochs is 2 th"
    ):
        run_comparison(other, output)
    assert calls == []


def test_finished_runs_need_no_memory_to_train(plan, output, calls, monkeypatch):
    monkeypatch.setattr("trainers.training.memory.available", lambda: 0.0)
    run_comparison(plan, output)
    assert calls == []


def test_a_model_that_cannot_be_trained_is_refused_before_any_training(plan, tmp_path, calls):
    models, settings = ("quatre", "conve"), {**BUDGET, "embedding_dim": 6}
    wrong = dataclasses.replace(plan, models=models, settings=settings)
    with pytest.raises(ConfigError, match="--model=conve learns heads through reciprocal"):
        run_comparison(wrong, tmp_path)
    assert calls == []


def test_data_set_that_changed_between_runs(plan, output):
    shutil.rmtree(output / "quate-seed5" / "graph")
    catalog.load("countries").save(output / "quate-seed5" / "graph")
    with pytest.raises(
        DataError, match=r"quate-seed5 was trained on another graph than family was"
    ):
        run_comparison(plan, output)


def test_data_set_that_changed_since(plan, output, calls):
    # A run on the new data, and nothing else to train.
    shutil.rmtree(output / "quatre-seed5")
    for name in plan.configs():
        if (output / name).exists():
            shutil.rmtree(output / name / "graph")
            catalog.load("countries").save(output / name / "graph")
    with pytest.raises(DataError, match=r"was trained on another graph than family was"):
        run_comparison(plan, output)
    assert calls == []


def test_bars_of_figures_that_are_all_zero(plan, finished):
    rows = [row._replace(value=0.0, low=0.0, high=0.0) for row in finished[1].rows]
    page = comparison_page(plan, dataclasses.replace(finished[1], rows=tuple(rows)))
    assert 'width="0.0"' in page


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"models": ()}, "--models must be different ones. Received: none."),
        ({"models": ("quate", "quate")}, "--models must be .* Received: quate,quate."),
        ({"settings": {"epochs": 0}}, "--epochs must be at least 1. Received: 0."),
    ],
)
def test_senseless_plans(plan, change, message):
    with pytest.raises(ConfigError, match=message):
        dataclasses.replace(plan, **change)


def test_mean_over_seeds(plan, tmp_path, output):
    """Two seeds; the second is a copy of the other model's run with the first."""
    two = dataclasses.replace(plan, models=("quatre", "quate"), seeds=(5, 6))
    alone = {
        model: Results.load(output / f"{model}-seed5" / "test_metrics.json").metrics()
        for model in two.models
    }
    (output / "quatre-seed5").rename(output / "quate-seed6")
    shutil.copytree(output / "quate-seed5", output / "quatre-seed6")
    shutil.copytree(output / "quate-seed6", output / "quatre-seed5")
    results = evaluate_models(two, output)
    mean = {metric: np.mean([of[metric] for of in alone.values()]) for metric in METRICS}
    for model in two.models:
        assert results.metrics(run=model) == pytest.approx(mean)
        row = results.find("mrr", run=model)
        assert row.low <= row.value <= row.high
    assert results.find("mrr", run="quate", baseline="quatre").value == pytest.approx(0, abs=1e-12)
    text = comparison_text(two, results)
    assert "Mean over seeds 5, 6, with 95 % bootstrap intervals" in text
    assert "Each run\n" in text
    assert "quatre-seed6" in text


def test_published_figures_stand_beside_their_candidate_set():
    like = Row("test", "realistic", "all", "both", 7, "mrr", 0.5)
    found = [
        (r.run, r.candidates, r.metric, r.value) for r in published_rows("wn18rr", "quate", like)
    ]
    assert found[0] == ("quate, paper", "all", "mr", 3472)
    assert found[1] == ("quate, paper", "all", "mrr", 0.481)
    assert ("quate, paper", "type_constrained", "hits@10", pytest.approx(0.582)) in found
    assert found[-1][1:] == ("all", "mrr", 0.482)
    of_transe = [r for r in published_rows("wn18rr", "transe", like) if "paper" in r.run]
    # Others are not given by the paper, so not there.
    assert [row.metric for row in of_transe] == ["mr", "mrr", "hits@10"]
    assert list(published_rows("countries", "quate", like)) == []


def test_paper_table_has_each_model_with_its_own_recipe():
    plan = Comparison("wn18rr", paper_models("wn18rr"), (1,), "", {"budget_minutes": 5.0})
    recipes = {config.model: config.recipe for config in plan.configs().values()}
    assert plan.models[0] == "quatre"
    assert len(recipes) == 10
    assert recipes["convkb"] == recipes["conve"] == recipes["quatre"] == "sampled"
    with pytest.raises(ConfigError, match=r"wn18rr, .* Received: --dataset=umls"):
        paper_models("umls")
