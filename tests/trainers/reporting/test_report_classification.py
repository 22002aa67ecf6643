"""The section of the report about triple classification."""

import csv

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="the extra `analysis` is not installed")

from PIL import Image

from datasets import catalog
from quatre_tf import Graph, QuatRE, Run
from trainers.reporting.html_report.classification import classification


def test_two_runs(family, tmp_path):
    graph = catalog.load(str(family))
    runs = {
        name: Run(QuatRE(graph.num_entities, graph.num_relations, 4), graph, tmp_path)
        for name in ("A & B", "$x$")
    }
    # All scores are 0, so everything is called true or everything false.
    entities = runs["A & B"].model.entities.embeddings
    entities.assign(np.zeros(entities.shape))
    html = classification(runs, tmp_path)
    assert "all, A &amp; B" in html
    assert "drawn at random" in html
    with (tmp_path / "classification.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["run"] == "A & B"]
    whole = {row["metric"]: float(row["value"]) for row in rows if not row["group_by"]}
    assert (whole["accuracy"], whole["roc_auc"]) == (0.5, 0.5)
    roc = [row for row in rows if row["metric"] == "roc"]
    assert all(float(row["value"]) == pytest.approx(float(row["group"])) for row in roc[1:])
    with Image.open(tmp_path / "classification.png") as image:
        assert image.size == (1300, 660)


def test_nothing_to_classify(tmp_path):
    """Every triple is known, so none can be drawn that is false."""
    splits = {split: [["a"], ["r"], ["a"]] for split in ("train", "valid", "test")}
    graph = Graph.from_names("g", splits)
    html = classification({"run": Run(QuatRE(1, 1, 4), graph, tmp_path)}, tmp_path)
    assert "Not possible: " in html
    assert not list(tmp_path.iterdir())
