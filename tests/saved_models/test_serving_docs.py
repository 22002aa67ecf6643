"""What README.md and the example files say about a served model, held against one."""

import ast
import pathlib
import re

import pytest

from datasets import catalog
from quatre_tf import QuatRE
from saved_models.scorer import Scorer
from saved_models.versions import export_scorer
from tests.documents import blocks
from tests.server_double import Servable, serve_grpc
from tests.serving import load_session, signatures_of

FOLDER = pathlib.Path(__file__).parents[2] / "saved_models"
README = (FOLDER / "README.md").read_text(encoding="utf-8")


def documented():
    """Returns {signature: (inputs, outputs)} of the table in README.md."""
    rows = re.findall(r"^\| (`.*?) \| (.*?) \| (.*?) \|$", README, re.MULTILINE)
    table = {}
    for names, *cells in rows:
        words = [re.findall(r"`(\w+)`", cell) for cell in cells]
        table |= dict.fromkeys(re.findall(r"`(\w+)`", names), words)
    # "The same" as the row before, but for the side.
    table["predict_heads"][1] = table["predict_tails"][1]
    return table


def test_signatures_are_as_documented(exported):
    signatures = signatures_of(exported)
    expected = documented()
    assert set(signatures) == set(expected)
    for name, (inputs, outputs) in expected.items():
        assert set(signatures[name].inputs) == set(inputs), name
        assert set(signatures[name].outputs) == set(outputs), name


@pytest.fixture
def countries(tmp_path):
    """The folder of an exported model of `countries`."""
    graph = catalog.load("countries")
    model = QuatRE(graph.num_entities, graph.num_relations, embedding_dim=4)
    export_scorer(Scorer(model, graph), tmp_path)
    return tmp_path


def test_the_example_without_a_server(countries, capsys):
    (example,) = [b for b in blocks(FOLDER / "README.md", "python") if "saved_model.load" in b.text]
    exec(example.text.replace("saved_models/exports/countries", str(countries)), {})
    with load_session(countries / "1") as ask:
        expected = ask(
            "predict_tails", head=["Egypt"], relation=["official_language"], top_k=3, filtered=False
        )
    printed = capsys.readouterr().out
    assert all(repr(name) in printed for name in expected["entities"][0])


def test_the_example_over_grpc(countries, capsys):
    pytest.importorskip("tensorflow_serving", reason="needs tensorflow-serving-api")
    (example,) = [b for b in blocks(FOLDER / "README.md", "python") if "grpc" in b.text]
    with load_session(countries / "1") as ask:
        servable = Servable("countries", countries / "1", ask)
        with serve_grpc(servable) as address:
            exec(example.text.replace("localhost:8500", address), {})
        expected = ask(
            "predict_tails", head=["Egypt"], relation=["official_language"], top_k=2, filtered=False
        )
    printed = ast.literal_eval(capsys.readouterr().out)
    assert printed == {name: output.tolist() for name, output in expected.items()}
    assert printed["status"] == [b"OK"]
