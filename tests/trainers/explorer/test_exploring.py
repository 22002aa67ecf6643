"""The page and its JSON, on the graph and the model of small_graph.py.

The score of (h, r, t) is the product of their NUMBERS: a 1, b 2, c 2, d -1, e 0, f 3.
"""

import dataclasses
import html
import json
import pathlib
import re
import shutil
import subprocess
import threading

import pytest
from werkzeug.test import Client

from quatre_tf import SPLITS, Graph, Results, Row, Run
from quatre_tf.errors import DataError
from tests.quatre_tf.ranking.small_graph import small_graph, small_model
from trainers.explorer import application, server
from trainers.explorer.api import Api
from trainers.explorer.application import Application
from trainers.explorer.search import EntitySearch
from trainers.reporting.runs import ReportedRun
from trainers.training.config import TrainConfig

LABELS = {"a": "Anna", "b": "Bea", "c": "<img/src=x>", "f": "Anna-Lena"}
STATIC = pathlib.Path(application.__file__).parent / "static"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = tmp_path_factory.mktemp("run")
    graph = dataclasses.replace(small_graph(), labels=LABELS)
    settings = dataclasses.asdict(TrainConfig(dataset="small"))
    return ReportedRun(path, settings, [], graph, Run(small_model(), graph, path))


@pytest.fixture(scope="module")
def app(run):
    return Application(Api(run))


@pytest.fixture
def client(app):
    return Client(app)


@pytest.fixture
def address(app):
    """Where this process serves the page meanwhile."""
    # The first question is compiled for seconds, which is too long for Chromium's virtual time.
    ask(Client(app), "/api/answers", tail="b", relation="likes")
    with server.listen(0) as listening:
        serving = server.make(app, listening)
        thread = threading.Thread(target=serving.serve_forever)
        thread.start()
        yield server.address(listening)
        serving.shutdown()
        thread.join()


def ask(client, path, status=200, **parameters):
    response = client.get(path, query_string=parameters)
    assert (response.status_code, response.mimetype) == (status, "application/json")
    return response.json


def names(found):
    return "".join(entity["name"] for entity in found)


def test_tails_with_label_score_and_split(client):
    told = ask(client, "/api/answers", head="a", relation="likes")
    assert told["question"] == ["a", "likes", "?"]
    answers = told["answers"]
    assert names(answers) == "fbcaed"
    assert [answer["score"] for answer in answers] == [3, 2, 2, 1, 0, -1]
    assert [answer["label"] for answer in answers] == [LABELS.get(name) for name in "fbcaed"]
    splits = {answer["name"]: answer["known"] for answer in answers if answer["known"]}
    assert splits == {"b": "train", "c": "train", "d": "test"}
    probabilities = [answer["probability"] for answer in answers]
    assert len(set(probabilities)) == 5
    assert 1 > probabilities[0] > probabilities[-1] > 0


def test_heads_without_those_known(client):
    """Of a, b, c and e one split or another knows that they like b."""
    answers = ask(client, "/api/answers", tail="b", relation="likes", known="0")["answers"]
    assert [(answer["name"], answer["score"]) for answer in answers] == [("f", 6), ("d", -2)]


def test_only_entities_seen_in_train_and_a_label_as_the_question(client):
    told = ask(client, "/api/answers", head="ANNA", relation="likes", seen="1", count="3")
    assert names(told["answers"]) == "bca"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("anna", "af"),  # what is equal, then what begins so
        ("ANNA-", "f"),
        ("  ea ", "b"),  # inside a label
        ("b", "b"),
        ("A", "afb"),  # equal, begins so, inside
        ("likes", ""),
        ("", "bacdef"),  # in triples: 7, 6, 5, 5, 2, 1 times
    ],
)
def test_search(client, text, found):
    assert names(ask(client, "/api/search", text=text)["found"]) == found


def test_several_runs(run):
    client = Client(Application(Api(run, "one"), Api(run, "two")))
    assert [each["title"] for each in ask(client, "/api/runs")["runs"]] == ["one", "two"]
    asked = {"head": "a", "relation": "likes"}
    one, two, first = (
        ask(client, "/api/answers", **asked, **of) for of in ({"run": "one"}, {"run": "two"}, {})
    )
    assert one == two == first
    response = client.get("/api/run", query_string={"run": "three"})
    assert response.status_code == 404
    assert response.json["suggestions"] == ["one", "two"]


def test_search_looks_inside_names_but_not_across_them():
    rows = [("Aab", "x", "Bxa"), ("Aab", "x", "zAAß"), ("Bxa", "x", "zAAß"), ("zAAß", "x", "É")]
    graph = Graph.from_names("graph", dict.fromkeys(SPLITS, tuple(zip(*rows, strict=True))))
    find = EntitySearch(graph).find
    assert list(graph.entities.names) == ["Aab", "Bxa", "zAAß", "É"]
    assert list(find("bb", 5)) == []
    assert list(find("az", 5)) == []
    assert list(find("aa", 5)) == [0, 2]
    assert list(find("aa", 1)) == [0]
    assert list(find("a", 5)) == [0, 2, 1]  # begins so; then 9 and 6 facts
    assert list(find("ß", 5)) == [2]
    assert [list(find(text, 5)) for text in ("é", "e", "E\u0301", "è")] == [[3]] * 4
    assert list(find("b", 5)) == [1, 0]


def test_facts_of_an_entity_as_head_and_then_as_tail(client):
    told = ask(client, "/api/entity", entity="b")
    facts = [(names([f["head"]]), f["relation"], names([f["tail"]])) for f in told["facts"]]
    assert facts == [tuple(fact.split()) for fact in (
        *("b likes b", "b likes d", "b rules a"),
        *("a likes b", "c likes b", "e likes b"),
    )]  # fmt: skip
    assert [fact["known"] for fact in told["facts"]] == [
        *("test", "train", "train"),
        *("train", "valid", "train"),
    ]
    assert told["relations"] == {"tail": [2, 1], "head": [4, 0]}
    assert (told["label"], told["num_facts"]) == ("Bea", 6)
    # All embeddings lie on one line: the cosine is the sign of the product of two NUMBERS.
    near = [(entity["name"], entity["label"], entity["cosine"]) for entity in told["neighbors"]]
    assert near[:2] == [("a", "Anna", 1), ("c", LABELS["c"], 1)]
    assert near[2:] == [("f", "Anna-Lena", 1), ("e", None, 0), ("d", None, -1)]
    assert ask(client, "/api/entity", entity="b", count="2")["facts"] == told["facts"][:2]


def test_the_run_without_records_or_test_figures(client):
    told = ask(client, "/api/run")
    assert told["relations"] == [["likes", 11], ["rules", 2]]
    assert told["facts"]["Triples (train / valid / test)"] == "7 / 2 / 4"
    assert (told["name"], told["test"], told["calibrated"]) == ("small", [], True)
    assert told["settings"]["dataset"] == "small"
    none = {"loss": {"train": []}, "best": None}
    for metric in ("mrr", "hits@10"):
        none[metric] = {"valid/all": [], "valid_sample/all": []}
    assert ask(client, "/api/curves") == none


def test_learning_curves_keep_their_last_point(run, tmp_path):
    rows = [("train", step, {"loss": 1 / step}) for step in range(1, 1201)]
    rows += [("valid/all", 1200, {"mrr": 0.4, "hits@10": 0.6})]
    lines = [
        json.dumps({"group": group, "step": step, "epoch": step / 10, "seconds": 1.0, **values})
        for group, step, values in rows
    ]
    (tmp_path / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    api = Api(dataclasses.replace(run, path=tmp_path))
    assert api.run({})["facts"]["Best epoch"].startswith("120\n")
    told = api.curves({})
    loss = told["loss"]["train"]
    assert 250 <= len(loss) <= 500
    assert loss[-1] == [120.0, 1 / 1200]
    assert told["mrr"] == {"valid/all": [[120.0, 0.4]], "valid_sample/all": []}
    assert (told["best"]["epoch"], told["best"]["hits@10"]) == (120.0, 0.6)


def test_test_figures_as_cells(run, tmp_path):
    api, path = Api(dataclasses.replace(run, path=tmp_path)), tmp_path / "test_metrics.json"
    sides = {
        side: {"mr": 1234.5, "mrr": mrr, "hits@1": 0.25, "hits@3": 0.5, "hits@10": 1.0}
        for side, mrr in (("both", 0.5), ("head", 0.25), ("tail", 0.75))
    }
    rows = [
        Row("test", "realistic", "all", side, 4, metric, value)
        for side, metrics in sides.items()
        for metric, value in metrics.items()
    ]
    path.write_text(Results("test", 4, "realistic", tuple(rows)).to_json())
    assert api.run({})["test"] == [
        ["", "MR", "MRR", "H@1", "H@3", "H@10"],
        ["heads and tails", "1,234.5", "0.5000", "0.2500", "0.5000", "1.0000"],
        ["heads", "1,234.5", "0.2500", "0.2500", "0.5000", "1.0000"],
        ["tails", "1,234.5", "0.7500", "0.2500", "0.5000", "1.0000"],
    ]
    path.write_text('{"candidates": {}}')
    with pytest.raises(DataError, match=r"test_metrics\.json: expected the results"):
        api.run({})


@pytest.mark.parametrize(
    ("path", "parameters", "status", "error"),
    [
        ("answers", {"head": "a", "relation": "like"}, 404, "Unknown relation 'like'"),
        ("answers", {"relation": "likes"}, 400, "in the place of either head or tail"),
        ("answers", {"head": "a", "relation": "likes", "count": "0"}, 400, "from 1 to 1,000"),
        ("entity", {}, 400, "expected the name of entity"),
        ("nothing", {}, 404, "not found"),
    ],
)
def test_errors_are_json(client, path, parameters, status, error):
    assert error in ask(client, f"/api/{path}", status, **parameters)["error"]


@pytest.mark.parametrize("path", ["/", "/main.js", "/api/run"])
def test_nothing_but_get(client, path):
    for method in ("post", "put", "delete", "patch", "options"):
        response = getattr(client, method)(path)
        assert response.status_code == 405
        assert response.headers["Allow"] == "GET, HEAD"
        assert response.json["error"]


@pytest.mark.parametrize("path", ["/", "/main.js", "/api/run", "/nothing"])
def test_only_under_a_name_of_this_computer(client, path):
    """Else a page of another site that gives its name this address could read the run."""
    for host in ("localhost:6007", "127.0.0.1:6007", "127.0.0.1"):
        assert client.get(path, headers={"Host": host}).status_code in (200, 404)
    for host in ("evil.example", "127.0.0.1.evil.example:6007", "localhost.evil.example"):
        response = client.get(path, headers={"Host": host})
        assert (response.status_code, list(response.json)) == (400, ["error", "suggestions"])


@pytest.mark.parametrize("path", ["/", "/api/run", "/nothing"])
def test_headers_forbid_what_the_page_does_not_need(client, path):
    headers = client.get(path).headers
    policy = dict(rule.split(" ", 1) for rule in headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == policy["frame-ancestors"] == "'none'"
    assert {policy[f"{kind}-src"] for kind in ("script", "style", "img", "connect")} == {"'self'"}
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "Access-Control-Allow-Origin" not in headers


@pytest.mark.parametrize(
    "path", ["/../api.py", "/static/main.js", "/api/../main.js", "/%2e%2e/api.py", "/main.js/"]
)
def test_no_path_reaches_another_file(client, path):
    assert client.get(path).status_code == 404


def test_every_file_of_the_page_is_served(client):
    for path in STATIC.iterdir():
        response = client.get(f"/{path.name}".removesuffix("index.html"))
        assert response.data == path.read_bytes()


def rendered(address, profile):
    """Returns the elements of a page after its scripts have run."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        pytest.skip("no chromium on this computer")
    result = subprocess.run(
        [
            *(browser, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"),
            *(f"--user-data-dir={profile}", "--virtual-time-budget=10000", address),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        timeout=60,
        check=True,
    )
    return result.stdout


def text_of(dom):
    """Returns what a reader sees: the text of each element in a line."""
    return [html.unescape(text).strip() for text in re.findall(r">([^<]+)<", dom) if text.strip()]


def test_page_in_chromium(address, tmp_path):
    """Scores of (?, likes, b) are 2 times each number: f 6, b 4, c 4, a 2, e 0, d -2."""
    dom = rendered(f"{address}?entity=Bea&relation=likes&asked=head", tmp_path / "profile")
    (answers,) = re.findall(r'<table class="ranked">.*?</table>', dom, re.DOTALL)
    shown = [html.unescape(name) for name in re.findall(r"<a [^>]*>([^<]+)</a>", answers)]
    assert shown == [LABELS.get(name, name) for name in "fbcaed"]
    cells = text_of(answers)
    assert cells[cells.index("Anna") : cells.index("Anna") + 3] == ["Anna", "a", "2.000"]
    marks = [text for text in cells if text in ("train", "valid", "test")]
    assert marks == ["test", "valid", "train", "train"]
    assert "<img" not in dom
    assert {"In 6 facts: head of 3, tail of 4.", "(?, likes, Bea)"} <= set(text_of(dom))
    assert '<p id="message" role="alert" hidden="">' in dom
