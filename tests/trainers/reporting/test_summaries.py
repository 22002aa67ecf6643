"""A whole run, read back as TensorBoard reads it."""

import json
import re
import shutil

import numpy as np
import pytest
import tensorflow as tf
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.hparams import metadata

from quatre_tf import Results, load_run
from tests.trainers.reporting.summary_events import read_tensors, read_values
from tests.trainers.training.survival import read_records
from trainers.reporting.tensorboard.final import HPARAMS_FOLDER

TABLES = {"entities", "relation", "head_rotation", "tail_rotation"}


@pytest.fixture
def run_dir(finished, tmp_path):
    """A run over three validations, at steps 10, 20 and 30."""
    return shutil.copytree(finished, tmp_path / "finished")


def test_run_is_all_there(run_dir):
    logged = read_tensors(run_dir / "tensorboard")
    _check_validations(logged, run_dir)
    _check_layout(logged)
    _check_text(logged, run_dir)
    _check_row_of_the_hparams_table(run_dir)
    _check_projector(run_dir)


def _check_validations(logged, run_dir):
    """What metrics.jsonl has is the same here; the rest is there at each validation."""
    records = read_records(run_dir, "valid/all")
    for name in ("mr", "mrr", "hits@1", "hits@3", "hits@10"):
        values = {record["step"]: record[name] for record in records}
        assert logged[f"valid/all/{name}"] == pytest.approx(values)
    train = {"loss", "regularization", "gradient_norm", "learning_rate", "triples_per_second"}
    assert {f"train/{name}" for name in train} < set(logged)
    lines = (run_dir / "metrics.jsonl").read_text().splitlines()
    groups = {json.loads(line)["group"] for line in lines}
    # A slow run has samples of validation too.
    assert groups - {"valid_sample/all"} == {"train", "valid/all"}

    by_relation = [tag for tag in logged if tag.startswith("valid/per_relation/")]
    graph = load_run(run_dir).graph
    relations = set(graph.relations.names[graph.valid[:, 1]])
    assert {re.sub(r".*/\d\d_", "", tag) for tag in by_relation} == relations
    others = {f"{group}/{table}" for group in ("tables", "moduli") for table in TABLES}
    others |= {"rotation_angles/w_r", "scores/true", "scores/corrupted", "scores/auc"}
    for tag in (*by_relation, *others):
        assert set(logged[tag]) == {10, 20, 30}, tag


def _check_layout(logged):
    """No chart of the layout stays empty."""
    (text,) = logged["custom_scalars__config__"].values()
    layout = layout_pb2.Layout.FromString(text.item())
    assert [category.title for category in layout.category] == ["Validation", "Training", "Speed"]
    patterns = [t for c in layout.category for chart in c.chart for t in chart.multiline.tag]
    assert len(patterns) == 9
    for pattern in patterns:
        assert any(re.search(pattern, tag) for tag in logged), pattern


def _check_text(logged, run_dir):
    settings, result = (logged[f"run/{name}"][0].item().decode() for name in ("settings", "test"))
    assert settings.index("| embedding_dim | `4` | `128` |") < settings.index("| recipe | `paper`")
    assert "| 24 | 3 | 32 | 8 | 8 |" in settings
    assert "    quatre fit --dataset=" in settings
    assert "--embedding_dim=4" in settings
    test = Results.load(run_dir / "test_metrics.json").metrics(side="head")
    assert f"| {test['mrr']:.4f} |" in next(
        line for line in result.splitlines() if line.startswith("| heads |")
    )


def _check_row_of_the_hparams_table(run_dir):
    values = read_values(run_dir / "tensorboard" / HPARAMS_FOLDER)
    (start,) = values.pop(metadata.SESSION_START_INFO_TAG).values()
    content = start.metadata.plugin_data.content
    info = metadata.parse_session_start_info_plugin_data(content)
    assert info.group_name.startswith("finished (")
    assert info.hparams["embedding_dim"].number_value == 4
    assert info.hparams["model"].string_value == "quatre"
    assert info.hparams["reciprocal"].bool_value is False

    figures = {tag: float(tf.make_ndarray(steps[0].tensor)) for tag, steps in values.items()}
    best = max(read_records(run_dir, "valid/all"), key=lambda record: record["hits@10"])
    test = Results.load(run_dir / "test_metrics.json").metrics()
    minutes = figures.pop("run/minutes")
    assert 0 < minutes < 10
    assert figures == pytest.approx(
        {
            "valid/mrr": best["mrr"],
            "valid/hits@10": best["hits@10"],
            "test/mrr": test["mrr"],
            "test/hits@10": test["hits@10"],
        }
    )


def _check_projector(run_dir):
    """The best weights, also from where the run was moved to."""
    moved = run_dir.rename(run_dir.with_name("moved"))
    checkpoint = tf.train.latest_checkpoint(str(moved / "tensorboard"))
    points = tf.train.load_checkpoint(checkpoint).get_tensor("entities")
    header, *lines = (moved / "tensorboard" / "metadata.tsv").read_text().splitlines()
    assert header.split("\t") == ["label", "name", "degree", "relation", "type"]
    trained = load_run(moved)
    ids = trained.graph.entities.ids([line.split("\t")[1] for line in lines])
    assert sorted(ids) == list(range(24))
    np.testing.assert_array_equal(points, trained.model.entities.embeddings.numpy()[ids])
