"""The report of a run, on a run that nobody had to train."""

import html.parser
import re
import shutil

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="the extra `analysis` is not installed")
pytest.importorskip("sklearn", reason="the extra `analysis` is not installed")

from PIL import Image

from datasets import catalog
from quatre_tf import Graph, QuatRE, Run
from quatre_tf.errors import ConfigError, DataError, UnknownNameError
from tests.quatre_tf.ranking.evaluations import make_results
from tests.trainers.reporting.log_lines import train_line, valid_line, write_lines
from trainers.reporting.html_report import entity_map, report
from trainers.training.run_directory import RunDirectory

NASTY = '<b>&"$x$"'


def make_run(path, config, graph, lines=None, trained=True):
    run = RunDirectory(path)
    path.mkdir()
    if trained:
        Run(QuatRE(graph.num_entities, graph.num_relations, 4), graph, path).save()
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
def nasty_graph(family, tmp_path):
    """The family, with names that HTML and matplotlib would read in their own way."""
    family = shutil.copytree(family, tmp_path / "family")
    for path in family.glob("*.txt"):
        text = path.read_text().replace("sibling_of", f"_{NASTY}").replace("p3\t", f"{NASTY}\t")
        path.write_text(text)
    return catalog.load(str(family))


@pytest.fixture
def evaluated(monkeypatch):
    """Puts made-up results in the place of real ones, and returns them."""
    made = []

    def evaluate_runs(runs, options, baseline=""):
        assert options.group_intervals
        relations = next(iter(runs.values())).graph.relations.names.tolist()
        made.append(make_results(relations, tuple(runs), baseline))
        return made[0]

    monkeypatch.setattr(report, "evaluate_runs", evaluate_runs)
    return made


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
    written = report.write_report(run_dir, other)
    assert written == run_dir / "report" / "index.html"
    text = written.read_text(encoding="utf-8")
    page = Elements(text)
    assert not re.search(r"https?:|src=(?!\"data:)|url\(|@import", text)
    assert {tag for tag, _ in page.elements}.isdisjoint({"script", "link", "iframe", "object"})
    images = [attributes for tag, attributes in page.elements if tag == "img"]
    assert len(images) == 7
    assert all(image["alt"] and image["src"].startswith("data:image/png;") for image in images)
    # As text and nowhere as an element.
    assert NASTY in page.text
    assert "b" not in {tag for tag, _ in page.elements}
    # The pictures are small and not blank.
    pictures = sorted(written.parent.glob("*.png"))
    expected = "categories classification curves entity_map overall relations reliability"
    assert [picture.stem for picture in pictures] == expected.split()
    for picture in pictures:
        with Image.open(picture) as image:
            assert np.asarray(image.convert("L")).std() > 5
            assert round(image.info["dpi"][0]) == 200
        assert picture.stat().st_size < 150_000


def test_run_before_its_first_validation(nasty_graph, config, tmp_path):
    run_dir = make_run(tmp_path / "one", config, nasty_graph, LINES[:1], trained=False)
    folder = report.write_report(run_dir).parent
    assert "No validation yet" in (folder / "index.html").read_text()
    assert {path.name for path in folder.iterdir()} == {"curves.csv", "curves.png", "index.html"}


def test_files_of_others_are_not_replaced(nasty_graph, config, tmp_path):
    run_dir = make_run(tmp_path / "one", config, nasty_graph, LINES[:1], trained=False)
    output = tmp_path / "site"
    report.write_report(run_dir, output=output)
    report.write_report(run_dir, output=output)
    (output / "index.html").write_text("my page on quatre analyze")
    with pytest.raises(ConfigError, match=r"site holds .*, which a report would replace"):
        report.write_report(run_dir, output=output)
    (output / "index.html").unlink()
    (output / "index.html").mkdir()
    with pytest.raises(ConfigError, match=r"site holds .*, which a report would replace"):
        report.write_report(run_dir, output=output)
    (output / "index.html").rmdir()
    (output / "results.csv").write_text("my results")
    with pytest.raises(ConfigError, match=r"site holds .*, which a report would replace"):
        report.write_report(run_dir, output=output)
    assert (output / "results.csv").read_text() == "my results"


def test_a_file_in_the_place_of_the_folder(nasty_graph, config, tmp_path):
    run_dir = make_run(tmp_path / "one", config, nasty_graph, LINES[:1], trained=False)
    with pytest.raises(DataError, match=r"config\.json is a file\. Expected by --output"):
        report.write_report(run_dir, output=run_dir / "config.json")


def test_runs_that_cannot_be_compared(nasty_graph, config, tmp_path):
    run_dir = make_run(tmp_path / "one", config, nasty_graph)
    countries = make_run(tmp_path / "two", config, catalog.load("countries"))
    with pytest.raises(ConfigError, match="are runs on different graphs"):
        report.write_report(run_dir, countries)
    untrained = make_run(tmp_path / "three", config, nasty_graph, trained=False)
    with pytest.raises(DataError, match="three holds no trained model"):
        report.write_report(run_dir, untrained)
    with pytest.raises(UnknownNameError, match=r"Unknown relation 'parentof'.*'parent_of'"):
        report.write_report(run_dir, relations=["parentof"])
    with pytest.raises(ConfigError, match="at most 6 different relations"):
        report.write_report(run_dir, relations=["parent_of", "parent_of"])


def test_map_tells_shared_entities_apart():
    """r holds a to e, s holds e to i: e is both."""
    facts = [("a", "r", "b"), ("c", "r", "d"), ("d", "r", "e")]
    facts += [("e", "s", "f"), ("g", "s", "h"), ("h", "s", "i")]
    facts += [("a", "t", "b")]
    columns = tuple(zip(*facts, strict=True))
    graph = Graph.from_names("letters", dict.fromkeys(("train", "valid", "test"), columns))
    assert entity_map.choose_relations(graph) == ("r", "s")
    table = np.random.default_rng(0).normal(size=(9, 8))
    layout = entity_map.make_map(graph, table, ("r", "s"))
    by_name = dict(zip(graph.entities.names[layout.entities], layout.groups, strict=True))
    assert by_name == {**dict.fromkeys("abcd", 0), "e": 2, **dict.fromkeys("fghi", 1)}
    assert layout.totals.tolist() == [4, 4, 1]
    assert layout.group_names == ["r", "s", "both"]
    again = entity_map.make_map(graph, table, ("r", "s"))
    np.testing.assert_array_equal(layout.positions, again.positions)
    assert entity_map.make_map(graph, table, ("t",)) is None
