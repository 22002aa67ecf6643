"""The section of the report about probabilities."""

import csv
import dataclasses
import math

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="the extra `analysis` is not installed")

from PIL import Image

from datasets import catalog
from quatre_tf import QuatRE, Run
from saved_models.calibrating import calibrate
from trainers.reporting.html_report import reliability

PLAIN = "logistic function of the score"


@pytest.fixture
def trained(family, tmp_path):
    graph = catalog.load(str(family))
    model = QuatRE(graph.num_entities, graph.num_relations, embedding_dim=4)
    # All scores are 0: the logistic function is one half everywhere.
    model.entities.embeddings.assign(np.zeros(model.entities.embeddings.shape))
    run = Run(model, graph, tmp_path)
    run.save()
    return run


@pytest.fixture
def report(tmp_path):
    (tmp_path / "report").mkdir()
    return tmp_path / "report"


def read_csv(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_figures_of_scores_that_say_nothing(trained, report):
    calibrate(trained)
    html = reliability.probabilities({"one": trained}, report)
    figures = read_csv(report / "calibration.csv")
    # The split, and the three relations, of which the test split has 8 triples.
    assert [row["relation"] for row in figures[:2]] == ["", ""]
    assert {row["probabilities"] for row in figures} == {PLAIN, "calibrated"}
    counts = [int(row["triples"]) for row in figures[::2]]
    assert counts[0] == sum(counts[1:]) == 8
    assert counts[1:] == sorted(counts[1:], reverse=True)
    for row in figures:
        assert float(row["brier"]) == pytest.approx(0.25)
        assert float(row["log_loss"]) == pytest.approx(math.log(2))
        assert float(row["ece"]) == pytest.approx(0, abs=1e-6)
    assert "0.6931" in html
    (plain, calibrated) = read_csv(report / "reliability.csv")
    assert [plain["probabilities"], calibrated["probabilities"]] == [PLAIN, "calibrated"]
    assert float(plain["weight"]) == pytest.approx(1)
    assert float(plain["share of positives"]) == pytest.approx(0.5)


def test_files_of_two_runs(trained, report):
    table = np.random.default_rng(0).normal(size=trained.model.entities.embeddings.shape)
    trained.model.entities.embeddings.assign(table)
    runs = {"one": trained, "$two$": trained}
    html = reliability.probabilities(runs, report)
    assert sorted(path.name for path in report.iterdir()) == sorted(reliability.PARTS)
    assert f"{PLAIN}, $two$" in html
    with Image.open(report / "reliability.png") as image:
        assert image.height > 1000
        assert np.asarray(image.convert("L")).std() > 5
    rows = read_csv(report / "calibration.csv")
    assert [row["run"] for row in rows[:4]] == ["one", "one", "$two$", "$two$"]
    for row in rows:
        low, value, high = (float(row[f"brier{end}"]) for end in (" low", "", " high"))
        assert low <= value <= high
    weights = [float(row["weight"]) for row in read_csv(report / "reliability.csv")]
    assert sum(weights) == pytest.approx(4)


def test_run_that_cannot_be_calibrated(trained, report, capsys):
    graph = dataclasses.replace(trained.graph, valid=trained.graph.valid[:0])
    html = reliability.probabilities({"one": dataclasses.replace(trained, graph=graph)}, report)
    assert "not calibrated" in html
    assert list(report.iterdir()) == []
    assert "has no triples" in capsys.readouterr().err
