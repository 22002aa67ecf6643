"""The report of a run, on a run that nobody had to train."""

import csv
import html.parser
import json
import re
import sys

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="the extra `analysis` is not installed")
pytest.importorskip("sklearn", reason="the extra `analysis` is not installed")

from PIL import Image

from datasets import catalog
from quatre_tf import QuatRE
from quatre_tf.data.graph import Graph
from quatre_tf.errors import ConfigError, DataError, UnknownNameError
from quatre_tf.ranking.evaluation import evaluate_run
from quatre_tf.run import Trained, save_best
from tests.quatre_tf.ranking.evaluations import METRICS, SETS, SIDES, make_evaluation
from trainers.reporting.analysis import building, embedding_map, ranked, records
from trainers.reporting.analysis.extra import require_extra
from trainers.training.run_directory import RunDirectory

VALID = dict.fromkeys(METRICS, 0.5)
NASTY = '<b>&"$x$"'


def train_line(step, loss=0.5):
    return {"group": "train", "step": step, "epoch": step / 5, "seconds": step * 1.0, "loss": loss}


def valid_line(step, hits, group="valid/all"):
    place = {"group": group, "step": step, "epoch": step / 5, "seconds": step * 1.0}
    return {**place, **VALID, "hits@10": hits}


def write_lines(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def make_run(path, config, graph, lines=None, trained=True):
    run = RunDirectory(path)
    path.mkdir()
    if trained:
        save_best(QuatRE(graph.num_entities, graph.num_relations, 4), path)
    run.begin(config, graph)
    if lines is not None:
        write_lines(run.metrics_file, lines)
    return path


LINES = [
    train_line(5, 0.7),
    valid_line(7, 0.3, "valid_sample/all"),
    train_line(10, 0.4),
    valid_line(10, 0.6),
    train_line(20, 0.2),
    valid_line(20, 0.55),
]


@pytest.fixture
def nasty_graph(family):
    """The family, with names that HTML and matplotlib would read in their own way."""
    for path in family.glob("*.txt"):
        text = path.read_text().replace("sibling_of", f"_{NASTY}").replace("p3\t", f"{NASTY}\t")
        path.write_text(text)
    return catalog.load(str(family))


@pytest.fixture
def evaluated(monkeypatch):
    """Puts made-up evaluations in the place of real ones, and gives them back by run."""
    made = {}

    def evaluate(runs):
        for seed, (name, run) in enumerate(runs.items()):
            relations = run.graph.relations.names.tolist()
            compare = "elsewhere" if len(runs) > 1 and seed == 0 else None
            made[name] = make_evaluation(relations, seed, compare)
        return made

    monkeypatch.setattr(building, "evaluate", evaluate)
    return made


def figures(row, metric):
    return [float(row[column]) for column in (metric, f"{metric} low", f"{metric} high")]


def read_csv(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


class Elements(html.parser.HTMLParser):
    """Collects the elements of a page, and its text."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.text = [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


def test_report_of_two_runs_is_self_contained(nasty_graph, config, tmp_path, evaluated):
    run_dir = make_run(tmp_path / "one", config, nasty_graph, LINES)
    other = make_run(tmp_path / NASTY, config, nasty_graph, LINES)
    written = building.write_report(run_dir, other)
    assert written == run_dir / "report" / "index.html"
    text = written.read_text(encoding="utf-8")
    page = Elements(text)
    assert not re.search(r"https?:|src=(?!\"data:)|url\(|@import", text)
    assert {tag for tag, _ in page.elements}.isdisjoint({"script", "link", "iframe", "object"})
    images = [attributes for tag, attributes in page.elements if tag == "img"]
    assert len(images) == 6
    assert all(image["alt"] and image["src"].startswith("data:image/png;") for image in images)
    # As text and nowhere as an element.
    assert NASTY in page.text
    assert "b" not in {tag for tag, _ in page.elements}


def test_pictures_are_small_and_not_blank(nasty_graph, config, tmp_path, evaluated):
    run_dir = make_run(tmp_path / "one", config, nasty_graph, LINES)
    report = building.write_report(run_dir).parent
    pictures = sorted(report.glob("*.png"))
    expected = ["categories", "curves", "entity_map", "overall", "relations", "reliability"]
    assert [picture.stem for picture in pictures] == expected
    for picture in pictures:
        with Image.open(picture) as image:
            assert np.asarray(image.convert("L")).std() > 5
            assert round(image.info["dpi"][0]) == 200
        assert picture.stat().st_size < 150_000


def test_csv_files_hold_the_figures(nasty_graph, config, tmp_path, evaluated):
    run_dir = make_run(tmp_path / "one", config, nasty_graph, LINES)
    other = make_run(tmp_path / "two", config, nasty_graph, LINES)
    report = building.write_report(run_dir, other, output=tmp_path / "report").parent
    first = evaluated["one"]

    rows = read_csv(report / "overall.csv")
    assert len(rows) == 2 * len(SETS) * len(SIDES)
    for row in rows:
        evaluation = evaluated[row["run"]]
        ends = evaluation["intervals"][row["candidates"]][row["side"]]
        for metric, value in evaluation["candidates"][row["candidates"]][row["side"]].items():
            assert figures(row, metric) == [value, *ends[metric]]

    for row in read_csv(report / "relations.csv"):
        relation = evaluated[row["run"]]["relations"][row["candidates"]][row["relation"]]
        assert int(row["triples"]) == relation["num_triples"]
        ends = relation["intervals"][row["side"]]["mrr"]
        assert figures(row, "mrr") == [relation[row["side"]]["mrr"], *ends]
    counts = [int(row["triples"]) for row in read_csv(report / "relations.csv")[:9:3]]
    assert counts == sorted(counts, reverse=True)

    for row in read_csv(report / "categories.csv"):
        by_category = evaluated[row["run"]]["categories"][row["categories over"]]
        category = by_category[row["candidates"]][row["category"]]
        assert figures(row, "hits@10")[0] == category[row["side"]]["hits@10"]

    (row,) = [
        row
        for row in read_csv(report / "comparison.csv")
        if (row["candidates"], row["side"], row["metric"]) == ("all", "tail", "mrr")
    ]
    assert [float(row[column]) for column in ("difference", "low", "high", "p")] == [
        first["comparison"]["all"]["tail"]["mrr"]["difference"],
        *first["comparison"]["all"]["tail"]["mrr"]["interval"],
        first["comparison"]["all"]["tail"]["mrr"]["p_value"],
    ]


def test_evaluations_are_those_of_the_evaluator_with_intervals_of_the_parts(family, tmp_path):
    graph = catalog.load(str(family))
    runs = {
        name: Trained(QuatRE(graph.num_entities, graph.num_relations, 4), graph, tmp_path / name)
        for name in ("one", "two")
    }
    found = ranked.evaluate(runs)
    expected = evaluate_run(runs["one"], compare_with=runs["two"])
    for part in (
        *found["one"]["relations"]["all"].values(),
        found["two"]["categories"]["train"]["all"]["M-1"],
    ):
        low, high = part["intervals"]["head"]["mrr"]
        assert low <= part["head"]["mrr"] <= high
    for parts in (found["one"]["relations"], *found["one"]["categories"].values()):
        for part in (part for by_name in parts.values() for part in by_name.values()):
            del part["intervals"]
    assert found["one"] == expected
    assert "comparison" not in found["two"]


def test_run_before_its_first_validation(nasty_graph, config, tmp_path):
    run_dir = make_run(tmp_path / "one", config, nasty_graph, LINES[:1], trained=False)
    report = building.write_report(run_dir).parent
    assert "No validation yet" in (report / "index.html").read_text()
    assert sorted(path.name for path in report.iterdir()) == [
        *("curves.csv", "curves.png", "index.html")
    ]


def test_runs_that_cannot_be_compared(nasty_graph, config, tmp_path):
    run_dir = make_run(tmp_path / "one", config, nasty_graph)
    countries = make_run(tmp_path / "two", config, catalog.load("countries"))
    with pytest.raises(ConfigError, match="are runs on different graphs"):
        building.write_report(run_dir, countries)
    untrained = make_run(tmp_path / "three", config, nasty_graph, trained=False)
    with pytest.raises(ConfigError, match="three cannot be compared: it holds no trained model"):
        building.write_report(run_dir, untrained)
    with pytest.raises(UnknownNameError, match=r"Unknown relation 'parentof'.*'parent_of'"):
        building.write_report(run_dir, relations=["parentof"])
    with pytest.raises(ConfigError, match="at most 6 different relations"):
        building.write_report(run_dir, relations=["parent_of", "parent_of"])


def test_resumed_run_counts_lost_work_once(tmp_path):
    """Killed at step 30, resumed from a checkpoint of step 10, with other calls than before."""
    path = tmp_path / "metrics.jsonl"
    lost = [train_line(20, 9.0), valid_line(20, 0.9), train_line(30, 9.0)]
    again = [train_line(15, 0.3), valid_line(15, 0.7), train_line(20, 0.2), valid_line(20, 0.6)]
    write_lines(path, [train_line(10, 0.4), *lost, *again])
    with path.open("a") as file:
        file.write('{"group": "tr')
    found = records.read_records(path)
    epochs, losses = records.series(found, records.TRAIN, "loss")
    assert epochs.tolist() == [2, 3, 4]
    assert losses.tolist() == [0.4, 0.3, 0.2]
    assert records.series(found, records.VALID, "hits@10").tolist() == [[3, 4], [0.7, 0.6]]
    assert records.best_record(found, "hits@10")["step"] == 15


@pytest.mark.parametrize(("best_by", "step"), [("hits@10", 5), ("mrr", 10)])
def test_best_is_the_validation_whose_weights_were_kept(best_by, step):
    found = [{**valid_line(5, 0.7), "mrr": 0.2}, {**valid_line(10, 0.6), "mrr": 0.3}]
    best = records.best_record([train_line(5), *found, found[1] | {"step": 15}], best_by)
    assert best["step"] == step
    assert records.best_record([train_line(5)], best_by) is None


def test_resumed_at_the_step_it_was_killed_at(tmp_path):
    """The validation of step 10 was written, its checkpoint was not; step 5 was the last one."""
    path = tmp_path / "metrics.jsonl"
    first = [train_line(5), train_line(10, 9.0), valid_line(10, 0.9)]
    write_lines(path, [*first, train_line(10, 0.3), valid_line(10, 0.8)])
    found = records.read_records(path)
    assert [record["step"] for record in found] == [5, 10, 10]
    assert records.series(found, records.VALID, "hits@10").tolist() == [[2], [0.8]]


def test_line_cut_off_before_a_resume(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"group": "train", "st' + json.dumps(train_line(5)) + "\n")
    assert records.read_records(path) == [train_line(5)]
    path.write_text(json.dumps(train_line(5)) + "\nnonsense\n")
    with pytest.raises(DataError, match=r"metrics\.jsonl:2: expected a record"):
        records.read_records(path)


def test_map_tells_shared_entities_apart():
    """r holds a to e, s holds e to i: e is both."""
    facts = [("a", "r", "b"), ("c", "r", "d"), ("d", "r", "e")]
    facts += [("e", "s", "f"), ("g", "s", "h"), ("h", "s", "i")]
    facts += [("a", "t", "b")]
    columns = tuple(zip(*facts, strict=True))
    graph = Graph.from_names("letters", dict.fromkeys(("train", "valid", "test"), columns))
    assert embedding_map.choose_relations(graph) == ("r", "s")
    table = np.random.default_rng(0).normal(size=(9, 8))
    layout = embedding_map.make_map(graph, table, ("r", "s"))
    by_name = dict(zip(graph.entities.names[layout.entities], layout.groups, strict=True))
    assert by_name == {**dict.fromkeys("abcd", 0), "e": 2, **dict.fromkeys("fghi", 1)}
    assert layout.totals.tolist() == [4, 4, 1]
    assert layout.group_names == ["r", "s", "both"]
    again = embedding_map.make_map(graph, table, ("r", "s"))
    np.testing.assert_array_equal(layout.positions, again.positions)
    assert embedding_map.make_map(graph, table, ("t",)) is None


def test_missing_extra_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(ConfigError) as raised:
        require_extra()
    message = str(raised.value)
    assert "needs the extra `analysis`: pip install -e '.[analysis]'" in message
    assert "\n" not in message
