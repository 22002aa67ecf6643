"""Runs on a tiny graph: whole ones, and only their training where the rest does not matter."""

import dataclasses
import json

import numpy as np
import pytest
import tensorflow as tf

from quatre_tf import Evaluator, Graph, Results, load_run
from quatre_tf.data import graph as graphs
from quatre_tf.errors import ConfigError, TrainingError
from saved_models.storage import StorageError
from tests.quatre_tf.ranking.evaluations import make_results
from tests.trainers.training.misfortunes import export_little
from tests.trainers.training.survival import assert_same_training, read_records
from tests.trainers.training.wiring import Machine, eagerly
from trainers.training import controller
from trainers.training.fitting import fit, train
from trainers.training.trainer import Trainer


@pytest.fixture
def quick(monkeypatch):
    """Without compiled steps and without a real export."""
    export_little(monkeypatch)
    with eagerly():
        yield


@pytest.mark.usefixtures("quick")
def test_known_triples_are_indexed_once(config, tmp_path, monkeypatch):
    """By training, validation, the test split and the scorer that is exported."""
    built = []
    for side in ("heads", "tails"):
        index = getattr(graphs, f"index_{side}")

        def remember(triples, num_entities, index=index, side=side):
            built.append((side, len(triples)))
            return index(triples, num_entities)

        monkeypatch.setattr(graphs, f"index_{side}", remember)
    fit(dataclasses.replace(config, epochs=1, validate_every=1), tmp_path / "run")
    assert built
    assert len(built) == len(set(built))


def test_run_leaves_everything_behind(finished):
    results = Results.load(finished / "test_metrics.json")
    assert (results.split, results.num_triples, results.tie_policy) == ("test", 8, "realistic")
    assert [(row.candidates, row.side, row.metric) for row in results.rows] == [
        ("all", side, metric)
        for side in ("both", "head", "tail")
        for metric in ("mr", "mrr", "hits@1", "hits@3", "hits@10")
    ]
    run = load_run(finished)
    assert Evaluator(run.graph).evaluate(run.model, "test").rows == results.rows
    assert [r["epoch"] for r in read_records(finished, "valid/all")] == [2, 4, 6]
    assert json.loads((finished / "config.json").read_text())["embedding_dim"] == 4
    assert (finished / "saved_model" / "1" / "saved_model.pb").is_file()
    printed = (finished / "printed.txt").read_text()
    assert "24 entities, 3 relations, 32 / 8 / 8 train / valid / test triples" in printed
    assert "heads and tails" in printed


@pytest.mark.usefixtures("quick")
def test_best_is_a_true_copy_of_the_best_not_the_last(config, tmp_path, monkeypatch):
    """Validation is made to get worse after the first: the kept weights must be the first's."""
    values = iter([0.9, 0.5, 0.4])
    seen = []

    rank = Evaluator.rank

    def seeing_rank(self, model, split, max_triples=None):
        seen.append(model.entities.embeddings.numpy().copy())
        return rank(self, model, split)

    def summarize(self, ranks):
        hits = next(values) if ranks.split == "valid" else 0.0
        results = make_results(["parent_of"])
        rows = (r._replace(value=hits) if r.metric == "hits@10" else r for r in results.rows)
        return dataclasses.replace(results, rows=tuple(rows))

    monkeypatch.setattr(Evaluator, "rank", seeing_rank)
    monkeypatch.setattr(Evaluator, "summarize", summarize)
    run_dir = tmp_path / "run"
    fit(dataclasses.replace(config, steps_per_epoch=1), run_dir)
    first, *_, last, tested = seen
    assert not np.allclose(first, last)
    np.testing.assert_array_equal(tested, first)
    np.testing.assert_array_equal(load_run(run_dir).model.entities.embeddings.numpy(), first)


@pytest.mark.usefixtures("quick")
def test_resumed_run_equals_the_uninterrupted_one(any_config, tmp_path, capsys):
    """Compiled steps are resumed in test_survival_of_kills.py and test_models_train.py."""
    config = dataclasses.replace(any_config, epochs=2, validate_every=1)
    train(config, tmp_path / "whole")
    # 52 questions have an answer among the 32 training triples; 8 a step, 6 steps a pass.
    length = {
        "paper": "8 positives x 2 negatives per step, 2 epochs of 5 steps",
        "strong": "8 queries x 24 candidates per step, 2 epochs of 6 steps",
        "sampled": "8 queries x 7 sampled candidates per step, 2 epochs of 6 steps",
    }
    assert length[config.recipe] in capsys.readouterr().out
    seen = []
    # Ended, not planned shorter: the learning rate may depend on where training ends.
    train(config, tmp_path / "parts", on_validation=lambda *seeing: seen.append(seeing))
    ((epoch, metrics),) = seen
    assert epoch == 1.0
    (record,) = read_records(tmp_path / "parts", "valid/all")
    assert metrics.items() <= record.items()
    train(config, tmp_path / "parts", resume=True)
    assert_same_training(tmp_path / "parts", tmp_path / "whole")


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (
            "OOM when allocating tensor",
            TrainingError,
            r"does not fit into memory.* a smaller --embedding_dim",
        ),
        ("run/best.data; No space left on device", StorageError, r"No space left.*--resume"),
    ],
)
def test_a_full_memory_and_a_full_disk_are_told_apart(
    config, tmp_path, monkeypatch, text, error, message
):
    def exhausted(self, num_steps):
        raise tf.errors.ResourceExhaustedError(None, None, text)

    monkeypatch.setattr(Trainer, "train", exhausted)
    with pytest.raises(error, match=message):
        train(config, tmp_path / "run")


def test_folder_with_a_run_is_not_overwritten(config, finished):
    with pytest.raises(ConfigError, match=r"already holds a run. Add --resume"):
        train(config, finished)


def test_folder_that_is_a_file(config, tmp_path):
    run_dir = tmp_path / "run"
    run_dir.write_text("mine")
    with pytest.raises(ConfigError, match=r"run is a file\. Expected the folder"):
        train(config, run_dir)
    assert run_dir.read_text() == "mine"


@pytest.mark.usefixtures("quick")
def test_a_file_is_split_and_the_graph_is_kept(config, tmp_path, capsys):
    lines = [f"n{i},next,n{(i + step) % 20}\n" for i in range(20) for step in (1, 2, 3)]
    (tmp_path / "facts.csv").write_text("".join(lines))
    dataset = str(tmp_path / "facts.csv")
    config = dataclasses.replace(config, dataset=dataset, epochs=1, validate_every=1)
    train(config, tmp_path / "run")
    printed = capsys.readouterr().out
    assert "facts.csv: 60 triples; comma separated, no header, columns 1, 2, 3" in printed
    assert "Split: leakage_aware, 10% for valid, 10% for test, seed 1.\n" in printed
    assert "Warning: valid has 6 triples" in printed
    graph = Graph.load(tmp_path / "run" / "graph")
    report = json.loads((tmp_path / "run" / "graph" / "report.json").read_text())
    assert report["fingerprint"] == graph.fingerprint
    assert report["counts"]["valid"] == len(graph.valid) == 6


@pytest.mark.usefixtures("quick")
def test_sample_of_validation_comes_early_and_is_labelled(config, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(controller, "_FIRST_SAMPLE_SECONDS", 0.0)
    monkeypatch.setattr(controller, "_SAMPLE_TRIPLES", 4)
    train(dataclasses.replace(config, epochs=2), tmp_path / "run")
    first = read_records(tmp_path / "run", "valid_sample/all")[0]
    assert first["step"] < config.validate_every * config.steps_per_epoch
    assert "valid SAMPLE of 4 triples" in capsys.readouterr().out


def test_batch_smaller_than_the_replicas(config, tmp_path):
    config = dataclasses.replace(config, batch_size=1, strategy="mirrored")
    with pytest.raises(
        ConfigError, match="--batch_size must be at least the number of replicas, 2"
    ):
        train(config, tmp_path / "run")


def test_budget_too_small_for_a_validation_is_named(strong_config, tmp_path):
    config = dataclasses.replace(strong_config, budget_minutes=1e-6)
    with pytest.raises(ConfigError, match=r"--budget_minutes=1e-06 was over before the first"):
        fit(config, tmp_path / "run")


@pytest.mark.usefixtures("quick")
def test_budget_ends_in_time_and_decays_to_the_end(strong_config, tmp_path, monkeypatch):
    """On a machine of known speed: a step takes two seconds, a ranking four."""
    machine = Machine(monkeypatch, step_seconds=2.0)
    machine.slow_down(monkeypatch)
    config = dataclasses.replace(strong_config, budget_minutes=1.0)
    start = machine.now
    fit(config, tmp_path / "run")
    # Of the minute, 8 seconds are for two rankings at the end and 5 for the export.
    assert 60 - 5 - 2 < machine.now - start <= 60
    assert len(read_records(tmp_path / "run", "valid/all")) >= 2
    rates = [record["learning_rate"] for record in read_records(tmp_path / "run", "train")]
    assert rates[0] == pytest.approx(config.learning_rate)
    assert rates[-1] < 0.1 * rates[0]
    checkpoints = sorted((tmp_path / "run" / "checkpoints").iterdir())
    # What was kept for the test split is not time to train.
    fit(config, tmp_path / "run", resume=True)
    assert sorted((tmp_path / "run" / "checkpoints").iterdir()) == checkpoints
