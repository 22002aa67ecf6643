"""Ablations: whole ones on a tiny graph, and their tables from made-up figures."""

import dataclasses
import json
import shutil

import filelock
import pytest

from datasets import catalog
from quatre_tf.errors import ConfigError, DataError
from tests.quatre_tf.ranking.evaluations import make_evaluation
from trainers import ablating
from trainers.ablating import run_ablation
from trainers.ablation_plan import Ablation
from trainers.ablation_table import ablation_text, summarize
from trainers.training.fitting import fit

VARIANTS = ("quatre", "quate", "quatre_head", "quatre_tail")
BUDGET = {
    "embedding_dim": 4,
    "num_negatives": 2,
    "batch_size": 8,
    "steps_per_epoch": 5,
    "epochs": 2,
    "validate_every": 1,
}


@pytest.fixture(scope="module")
def ablation(tmp_path_factory):
    """All variants with one seed, on a ring of twelve."""
    folder = tmp_path_factory.mktemp("ring")
    next_to = [f"e{i}\tnext\te{(i + 1) % 12}\n" for i in range(12)]
    before = [f"e{(i + 1) % 12}\tprevious\te{i}\n" for i in range(12)]
    (folder / "train.txt").write_text("".join(next_to + before[:8]))
    (folder / "valid.txt").write_text("".join(before[8:10]))
    (folder / "test.txt").write_text("".join(before[10:]))
    return Ablation(str(folder), VARIANTS, (5,), settings=BUDGET)


@pytest.fixture(scope="module")
def finished(ablation, tmp_path_factory):
    """The folder and the figures of the whole ablation; not to be changed."""
    output = tmp_path_factory.mktemp("finished")
    return output, run_ablation(ablation, output)


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

    monkeypatch.setattr(ablating, "fit", remember)
    return made


def test_every_variant_has_its_run_and_its_row(finished):
    output, summary = finished
    assert json.loads((output / "ablation.json").read_text()) == summary
    for variant in VARIANTS:
        config = json.loads((output / f"{variant}-seed5" / "config.json").read_text())
        assert (config["model"], config["seed"], config["epochs"]) == (variant, 5, 2)
        metrics = json.loads((output / f"{variant}-seed5" / "test_metrics.json").read_text())
        figure = summary["candidates"]["all"][variant]["mrr"]
        assert figure["mean"] == metrics["candidates"]["all"]["both"]["mrr"]
    rows = ablation_text(summary).splitlines()
    assert [row.split()[0] for row in rows if row.startswith("quat")][:4] == list(VARIANTS)


def test_finished_runs_are_read_not_repeated(ablation, finished, output, calls, capsys):
    assert run_ablation(ablation, output) == finished[1]
    assert calls == []
    assert capsys.readouterr().out.count("Finished before.") == 4


def test_interrupted_run_is_resumed(ablation, finished, output):
    run_dir, config = output / "quatre-seed5", ablation.configs()["quatre-seed5"]
    shutil.rmtree(run_dir)
    # As if it had been stopped at the first of its two epochs.
    fit(dataclasses.replace(config, epochs=1), run_dir)
    (run_dir / "config.json").write_text(config.to_json())
    (run_dir / "test_metrics.json").unlink()
    assert run_ablation(ablation, output) == finished[1]


def test_run_without_test_metrics_is_resumed(ablation, output, calls):
    (output / "quatre_head-seed5" / "test_metrics.json").unlink()
    with pytest.raises(KeyboardInterrupt):
        run_ablation(ablation, output)
    assert calls == [("quatre_head-seed5", True, True)]


def forget(run_dir, *names):
    """As if the run had not come to writing these."""
    for path in (run_dir / name for name in names):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def test_a_model_without_its_checkpoints_is_not_thrown_away(ablation, output, calls):
    forget(output / "quate-seed5", "test_metrics.json", "checkpoints")
    with pytest.raises(KeyboardInterrupt):
        run_ablation(ablation, output)
    assert calls == [("quate-seed5", True, True)]


def test_run_killed_before_its_first_checkpoint_starts_again(ablation, output, calls):
    forget(output / "quate-seed5", "test_metrics.json", "checkpoints", "best")
    with pytest.raises(KeyboardInterrupt):
        run_ablation(ablation, output)
    assert calls == [("quate-seed5", False, False)]


def test_run_that_another_process_trains_is_left_alone(ablation, output, calls):
    forget(output / "quate-seed5", "test_metrics.json", "checkpoints", "best")
    with (
        filelock.FileLock(output / "quate-seed5" / ".lock"),
        pytest.raises(ConfigError, match="Another process is training in"),
    ):
        run_ablation(ablation, output)
    assert (output / "quate-seed5" / "config.json").exists()
    assert calls == []


def test_another_budget_is_refused_before_any_training(ablation, output, calls):
    shutil.rmtree(output / "quatre-seed5")
    other = dataclasses.replace(ablation, settings={**BUDGET, "epochs": 3, "l2": 0.1})
    with pytest.raises(
        ConfigError, match=r"quate-seed5 holds .*: l2 is 0\.5 there, wanted 0\.1; epochs is 2 th"
    ):
        run_ablation(other, output)
    assert calls == []


def test_data_set_that_changed_between_runs(ablation, output):
    shutil.rmtree(output / "quate-seed5" / "graph")
    catalog.load("countries").save(output / "quate-seed5" / "graph")
    with pytest.raises(DataError, match=r"quate-seed5 was trained on another graph than .*quatre-"):
        run_ablation(ablation, output)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"variants": ()}, "--variants must be distinct ones. Received: none."),
        ({"variants": ("quate", "quate")}, "--variants must be .* Received: quate,quate."),
        ({"variants": ("rotate",)}, "--variants must be of quatre, .* Received: 'rotate'."),
        ({"seeds": (3, 3)}, "--seeds must be distinct ones. Received: 3,3."),
        ({"settings": {"epochs": 0}}, "--epochs must be at least 1. Received: 0."),
    ],
)
def test_senseless_plans(ablation, change, message):
    with pytest.raises(ConfigError, match=message):
        dataclasses.replace(ablation, **change)


def evaluation(mrr, interval=None):
    """An evaluation of which only the type-constrained MRR counts."""
    result = make_evaluation(["r"])
    result["candidates"]["type_constrained"]["both"]["mrr"] = mrr
    result["intervals"]["type_constrained"]["both"]["mrr"] = interval
    return result


def test_statistics_over_seeds_and_the_paper_s_figures():
    plan = Ablation("wn18rr", ("quatre", "quate"), (1, 2))
    figures = {
        "quatre-seed1": evaluation(0.5, [0.4, 0.6]),
        "quate-seed1": evaluation(0.3, [0.2, 0.4]),
        "quatre-seed2": evaluation(0.6, [0.5, 0.8]),
        "quate-seed2": evaluation(0.3, [0.1, 0.4]),
    }
    summary = summarize(plan.configs(), figures)
    mrr = summary["candidates"]["type_constrained"]["quatre"]["mrr"]
    assert mrr["mean"] == pytest.approx(0.55)
    assert (mrr["min"], mrr["max"]) == (0.5, 0.6)
    assert mrr["runs"] == {"quatre-seed1": 0.5, "quatre-seed2": 0.6}
    assert mrr["bootstrap"] == pytest.approx([0.45, 0.7])
    assert summary["paper"] == {
        "type_constrained": {
            "quatre": {"mrr": 0.493, "hits@10": 0.592},
            "quate": {"mrr": 0.488, "hits@10": 0.582},
        }
    }
    title, everything, constrained, honest = ablation_text(summary).split("\n\n")
    assert "mean [min, max] over seeds 1, 2" in title
    assert "0.5500 [0.5000, 0.6000]  [0.4500, 0.7000]" in constrained
    assert constrained.splitlines()[-2].split()[-2:] == ["0.493", "0.592"]
    assert "paper" not in everything
    assert "paper" not in honest


def test_one_seed_of_a_data_set_that_the_paper_does_not_have():
    plan = Ablation("countries", ("quatre",), (1,))
    result = make_evaluation(["r"])
    del result["intervals"]
    del result["candidates"]["train_type_constrained"]
    text = ablation_text(summarize(plan.configs(), {"quatre-seed1": result}))
    assert "paper" not in text
    assert "[" not in text
    assert len(text.split("\n\n")) == 3
