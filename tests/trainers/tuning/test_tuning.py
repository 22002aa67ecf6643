"""The order of a search, its books and its ends, with training replaced by made-up curves."""

import csv
import dataclasses
import functools
import json
import types

import filelock
import pytest

from quatre_tf.errors import ConfigError, DataError, TrainingError
from tests.quatre_tf.ranking.small_graph import small_graph
from trainers.commands import command_of
from trainers.training.run_directory import RunDirectory
from trainers.tuning import search as tuning
from trainers.tuning.plan import Search
from trainers.tuning.study import ask_trials
from trainers.tuning.table import search_text

run_search = functools.partial(tuning.run_search, data_dir=None)
SETTINGS = {"epochs": 9, "validate_every": 1}
# Validation MRR of each trial at every epoch; a second seed has .01 more.
VALUES = (0.2, 0.5, 0.3, 0.4, 0.45, 0.49)
# Worked out by hand. Rungs are epochs 1 and 3 (9 is the end). Trial 1 is alone and trial 2 better.
# Trials 3 and 4 are not the best of the 3 and 4 at epoch 1, nor is 5 of 5. Of 6, two go on: 2 and
# 6. At epoch 3, trial 6 is not the best of the three that came so far.
EPOCHS = (9, 9, 1, 1, 1, 3)
STATES = ("completed", "completed", "pruned", "pruned", "pruned", "pruned")
SPACE = ["embedding_dim", "batch_size", "learning_rate", "n3", "relation_prediction"]
COLUMNS = ["run", *SPACE, "seed", "state", "epochs", "minutes"]


class FakeTraining:
    """Takes the place of `train`: a validation an epoch, a checkpoint after each.

    Attributes:
        calls: Runs that were trained, and whether resumed.
        now: Seconds; `epoch_seconds` go by an epoch.
        fails: Runs that diverge at epoch 2.
        interrupted: (run, epoch) at which the person presses Ctrl-C, once.
        graph: What it is trained on.
    """

    def __init__(self, epoch_seconds=1.0):
        self.calls, self.fails = [], ()
        self.interrupted, self.graph = None, small_graph()
        self.now, self._epoch_seconds = 0.0, epoch_seconds

    def __call__(self, config, path, *, resume, on_validation, **sources):
        assert sources == {"data_dir": None}
        run = RunDirectory(path)
        assert run.has_run == resume
        self.calls.append((path.name, resume))
        run.checkpoints.mkdir(parents=True, exist_ok=True)
        run.begin(config, self.graph)
        done = len(run.metrics_file.read_text().splitlines()) if run.metrics_file.exists() else 0
        for epoch in range(done + 1, config.epochs + 1):
            if self.interrupted == (path.name, epoch):
                self.interrupted = None
                raise KeyboardInterrupt
            if path.name in self.fails and epoch == 2:
                raise TrainingError("Not all finite.")
            if not self._validate(config, run, epoch, on_validation):
                return

    def _validate(self, config, run, epoch, on_validation):
        self.now += self._epoch_seconds
        value = VALUES[int(run.path.name[6:9]) - 1] + 0.01 * (config.seed == 6)
        metrics = {"mr": 5.0, "mrr": value, "hits@1": 0.1, "hits@3": 0.2, "hits@10": 0.3}
        place = {"step": 10 * epoch, "epoch": float(epoch), "seconds": epoch * self._epoch_seconds}
        run.append_metrics({"group": "valid/all", **place, **metrics})
        (run.checkpoints / f"ckpt-{epoch}.index").touch()
        return on_validation(float(epoch), metrics)


@pytest.fixture
def training(monkeypatch):
    fake = FakeTraining()
    monkeypatch.setattr(tuning, "train", fake)
    # A walk over all of TensorFlow's objects, for nothing.
    monkeypatch.setattr(tuning, "free_memory", lambda: None)
    monkeypatch.setattr(tuning, "time", types.SimpleNamespace(monotonic=lambda: fake.now))
    return fake


@pytest.fixture
def search():
    return Search("nations", "strong", SETTINGS, seeds=(5, 6), trials=6, finalists=2)


def read_csv(output):
    with (output / "trials.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_halving_then_the_finalists_with_the_other_seed_and_all_that_is_written(
    search, training, tmp_path
):
    results = run_search(search, training.graph, tmp_path)
    first, rest = results[:6], results[6:]
    assert [r.path.name for r in first] == [f"trial-00{n}-seed5" for n in range(1, 7)]
    assert tuple(result.state for result in first) == STATES
    assert tuple(result.epochs for result in first) == EPOCHS
    assert [r.path.name for r in rest] == ["trial-002-seed6", "trial-001-seed6"]
    assert {r.state for r in rest} == {"completed"}
    # What is not completed keeps its figures, not its weights.
    kept = [r.path.name for r in results if (r.path / "checkpoints").exists()]
    assert kept == [r.path.name for r in results if r.state == "completed"]

    rows = read_csv(tmp_path)
    metrics = ["mr", "mrr", "hits@1", "hits@3", "hits@10"]
    assert list(rows[0]) == [*COLUMNS, "value", "best_epoch", *metrics]
    assert [row["state"] for row in rows] == [*STATES, "completed", "completed"]
    assert [float(row["value"]) for row in rows] == pytest.approx([*VALUES, 0.51, 0.21])
    assert [row["minutes"] for row in rows] == [f"{r.epochs / 60:.2f}" for r in results]
    assert [row["seed"] for row in rows] == ["5"] * 6 + ["6"] * 2
    # Equal values: the first epoch is the best.
    assert {row["best_epoch"] for row in rows} == {"1.0"}
    stored = json.loads((tmp_path / "trial-003-seed5" / "config.json").read_text())
    assert float(rows[2]["n3"]) == stored["n3"]

    summary = json.loads((tmp_path / "best.json").read_text())
    about = {"dataset": "nations", "recipe": "strong", "best_by": "mrr"}
    assert about.items() <= summary.items()
    best, other = summary["configurations"]
    assert (best["trial"], other["trial"]) == (2, 1)
    assert best["values"] == pytest.approx({"5": 0.5, "6": 0.51})
    assert (best["mean"], best["min"], best["max"]) == pytest.approx((0.505, 0.5, 0.51))
    assert best["run_dir"] == str(tmp_path / "trial-002-seed5")
    assert best["command"].startswith("quatre fit --dataset=nations --recipe=strong --")
    for name, value in best["settings"].items():
        # The preset's own value needs no flag.
        preset = {"embedding_dim": 512, "relation_prediction": 0.0}.get(name)
        assert (f" --{name}={value} " in best["command"]) == (value != preset)


def test_data_set_that_changed_between_sessions(search, training, tmp_path):
    run_search(dataclasses.replace(search, trials=1, finalists=1), training.graph, tmp_path)
    assert len(training.calls) == 2
    old = training.graph
    training.graph = dataclasses.replace(old, valid=old.test)
    with pytest.raises(DataError, match=r"trial-001-seed5 was trained on another graph than"):
        run_search(search, training.graph, tmp_path)
    assert len(training.calls) == 2
    # While the search runs, it is seen after the first trial on the new data.
    with pytest.raises(DataError, match=r"trial-002-seed5 was trained on another graph than"):
        run_search(search, old, tmp_path)
    assert len(training.calls) == 3


@pytest.mark.parametrize("interrupted", [("trial-002-seed5", 1), ("trial-006-seed5", 3)])
def test_interrupted_search_goes_on_to_the_same_figures(search, training, tmp_path, interrupted):
    run_search(search, training.graph, tmp_path / "whole")
    training.calls.clear()
    training.interrupted = interrupted
    with pytest.raises(KeyboardInterrupt):
        run_search(search, training.graph, tmp_path / "parts")
    before = len(training.calls)
    run_search(search, training.graph, tmp_path / "parts")
    again = training.calls[before]
    # Before its first checkpoint there is nothing to resume.
    assert again == (interrupted[0], interrupted[1] > 1)
    assert len(training.calls) == 9
    whole, parts = ((tmp_path / name / "trials.csv").read_text() for name in ("whole", "parts"))
    assert parts == whole


def test_failed_trial_is_noted_and_the_search_goes_on(search, training, tmp_path, capsys):
    training.fails = ("trial-001-seed5", "trial-002-seed5")
    results = run_search(search, training.graph, tmp_path)
    assert [r.state for r in results[:2]] == ["failed", "failed"]
    assert read_csv(tmp_path)[0]["state"] == "failed"
    assert "trial-001-seed5: failed. Not all finite." in capsys.readouterr().out
    note = json.loads((tmp_path / "trial-001-seed5" / "trial.json").read_text())
    assert note == {"state": "failed", "message": "Not all finite."}
    training.calls.clear()
    assert run_search(search, training.graph, tmp_path) == results
    assert training.calls == []


def test_trials_that_do_not_fit_into_memory_fail(search, training, tmp_path, monkeypatch):
    second = search.config(ask_trials(search)[1].point, 5)
    monkeypatch.setattr(tuning, "fits_in_memory", lambda config, _: config != second)
    results = run_search(search, training.graph, tmp_path)
    (failed,) = (r for r in results if r.state == "failed")
    assert failed.path.name == "trial-002-seed5"
    note = json.loads((failed.path / "trial.json").read_text())
    assert note == {"state": "failed", "message": "It does not fit into memory."}
    assert failed.path.name not in [name for name, _ in training.calls]
    assert len(read_csv(tmp_path)) == len(results)


def test_a_trial_that_has_begun_is_not_given_up_for_lack_of_memory(
    search, training, tmp_path, monkeypatch
):
    training.interrupted = ("trial-002-seed5", 2)
    with pytest.raises(KeyboardInterrupt):
        run_search(search, training.graph, tmp_path)
    monkeypatch.setattr(tuning, "fits_in_memory", lambda *_: False)
    results = run_search(search, training.graph, tmp_path)
    assert ("trial-002-seed5", True) in training.calls
    assert "failed" not in [r.state for r in results if r.path.name == "trial-002-seed5"]


def test_settings_that_the_model_refuses_end_the_search(search, training, tmp_path):
    wrong = dataclasses.replace(search, settings={**SETTINGS, "model": "conve", "embedding_dim": 7})
    with pytest.raises(ConfigError, match="--model=conve: `embedding_dim`"):
        run_search(wrong, training.graph, tmp_path)
    assert not any(tmp_path.iterdir())


def test_budget_stops_new_trials_and_keeps_a_share_for_the_finalists(search, training, tmp_path):
    """A trial takes 9 minutes; trials 3 to 5 one each, trial 6 three."""
    training._epoch_seconds = 60.0
    # At 18 minutes, 9 for a trial and min(2 x 9, a third of 39) for two finalists make 40.
    results = run_search(
        dataclasses.replace(search, budget_minutes=39), training.graph, tmp_path / "39"
    )
    assert [r.path.name for r in results] == [
        f"trial-00{name}" for name in ("1-seed5", "2-seed5", "2-seed6", "1-seed6")
    ]
    training.now = 0.0
    # 18 + 9 + 14 = 41 of 42 minutes; after trial 3 it is 42, after trial 4 it would be 43.
    results = run_search(
        dataclasses.replace(search, budget_minutes=42), training.graph, tmp_path / "42"
    )
    assert [r.path.name for r in results] == [
        f"trial-00{name}"
        for name in ("1-seed5", "2-seed5", "3-seed5", "4-seed5", "2-seed6", "1-seed6")
    ]


def test_trial_ends_when_the_time_is_over_and_a_larger_budget_goes_on(
    search, training, tmp_path, capsys
):
    training._epoch_seconds = 60.0
    short = dataclasses.replace(search, budget_minutes=3.5)
    (result,) = run_search(short, training.graph, tmp_path)
    # The validation at 4 minutes is the first after the end.
    assert (result.state, result.epochs) == ("unfinished", 4.0)
    assert [row["state"] for row in read_csv(tmp_path)] == ["unfinished"]
    assert "No trial was completed." in search_text(short, [result])
    training.calls.clear()
    assert run_search(short, training.graph, tmp_path) == [result]
    assert training.calls == []
    results = run_search(dataclasses.replace(search, budget_minutes=1000), training.graph, tmp_path)
    assert training.calls[0] == ("trial-001-seed5", True)
    assert tuple(r.state for r in results[:6]) == STATES


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"state": null}', "[" * 100_000])
def test_damaged_note_of_a_trial(search, training, tmp_path, content):
    search = dataclasses.replace(search, trials=1)
    run_search(search, training.graph, tmp_path)
    (tmp_path / "trial-001-seed5" / "trial.json").write_text(content)
    with pytest.raises(DataError, match=r"trial\.json is damaged: .* Delete it"):
        run_search(search, training.graph, tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dataset": "countries"}, "trial-001-seed5 holds .* dataset is 'nations' there, received"),
        ({"recipe": "sampled"}, "recipe is 'strong' there, received 'sampled'"),
        ({"recipe": "paper"}, "recipe is 'strong' there, received 'paper'"),
        ({"settings": {"epochs": 9, "validate_every": 2}}, "validate_every is 1 there, received 2"),
    ],
)
def test_another_search_in_the_folder_is_refused(search, training, tmp_path, change, message):
    run_search(dataclasses.replace(search, trials=1), training.graph, tmp_path)
    training.calls.clear()
    with pytest.raises(ConfigError, match=message):
        run_search(dataclasses.replace(search, **change), training.graph, tmp_path)
    assert training.calls == []


def test_run_of_another_process_is_left_alone(search, training, tmp_path):
    path = tmp_path / "trial-001-seed5"
    config = search.config(tuning.ask_trials(search)[0].point, 5)
    RunDirectory(path).begin(config, small_graph())
    with (
        filelock.FileLock(path / ".lock"),
        pytest.raises(ConfigError, match="Another process is training in"),
    ):
        run_search(search, training.graph, tmp_path)
    assert (path / "config.json").exists()


def test_grid_of_the_paper_is_not_pruned(training, tmp_path):
    settings = {"embedding_dim": 4, "num_negatives": 1, "learning_rate": 0.1, "patience": 0}
    search = Search("umls", "paper", {**settings, "epochs": 3, "validate_every": 1}, (5,))
    results = run_search(search, training.graph, tmp_path)
    assert [result.config.l2 for result in results] == [0.05, 0.1, 0.2, 0.5]
    assert {(result.state, result.epochs) for result in results} == {("completed", 3.0)}
    # Hits@10 is what chooses here, and all have the same: the first is named.
    assert search_text(search, results).splitlines()[-1].strip() == command_of(results[0].config)


def test_killed_after_the_last_judgement_is_not_trained_again(search, training, tmp_path):
    """The verdict is found again from the validations that are there."""
    results = run_search(search, training.graph, tmp_path)
    (tmp_path / "trial-003-seed5" / "trial.json").unlink()
    training.calls.clear()
    assert run_search(search, training.graph, tmp_path) == results
    assert training.calls == []
