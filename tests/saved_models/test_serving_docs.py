"""What README.md and the example files say about a served model, held against one."""

import ast
import pathlib
import re

import pytest

from quatre_tf import Graph, QuatRE
from saved_models.scorer import build_scorer
from saved_models.versions import export_scorer
from tests.documents import blocks
from tests.server_double import load_servable, serve_grpc
from tests.serving import signatures_of

FOLDER = pathlib.Path(__file__).parents[2] / "saved_models"
README = (FOLDER / "README.md").read_text(encoding="utf-8")
# Fields of BatchingParameters (session_bundle_config.proto), which no Python package brings.
BATCHING = {"max_batch_size", "batch_timeout_micros", "max_enqueued_batches", "num_batch_threads"}


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


def test_the_example_of_models_config():
    reason = "needs tensorflow-serving-api (pip install -e '.[test]')"
    message = "tensorflow_serving.config.model_server_config_pb2"
    config_pb2 = pytest.importorskip(message, reason=reason)
    text_format = pytest.importorskip("google.protobuf.text_format")
    text = (FOLDER / "serving" / "models.config").read_text(encoding="utf-8")
    config = text_format.Parse(text, config_pb2.ModelServerConfig()).model_config_list.config[0]
    assert (config.name, config.base_path) == ("countries", "/models/countries")
    assert config.model_platform == "tensorflow"
    assert config.model_version_policy.latest.num_versions == 1


def test_the_example_over_grpc(tmp_path, capsys):
    pytest.importorskip("tensorflow_serving", reason="needs tensorflow-serving-api")
    triples = [("Egypt", "official_language", "Arabic"), ("Kenya", "official_language", "Swahili")]
    columns = [list(column) for column in zip(*triples, strict=True)]
    graph = Graph.from_names("countries", dict.fromkeys(("train", "valid", "test"), columns))
    model = QuatRE(graph.num_entities, graph.num_relations, embedding_dim=4)
    export_scorer(build_scorer(model, graph), tmp_path)
    (example,) = [b for b in blocks(FOLDER / "README.md", "python") if "grpc" in b.text]
    with load_servable(tmp_path / "1", "countries") as servable, serve_grpc(servable) as address:
        exec(example.text.replace("localhost:8500", address), {})
        expected = servable.ask(
            "predict_tails", head=["Egypt"], relation=["official_language"], top_k=2, filtered=False
        )
    printed = ast.literal_eval(capsys.readouterr().out)
    assert printed == {name: output.tolist() for name, output in expected.items()}
    assert printed["status"] == [b"OK"]


def test_the_example_of_batching_parameters():
    text = (FOLDER / "serving" / "batching_parameters.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    fields = [re.fullmatch(r"(\w+) \{ value: [1-9]\d* \}", line) for line in lines]
    assert {field[1] for field in fields} == BATCHING
