"""Programs started by Python code, and training by one."""

import csv
import pathlib

import pandas as pd
import pytest

import quatre_tf
from quatre_tf.errors import ConfigError, DataError
from quatre_tf.runs import training
from quatre_tf.runs.programs import run_program

TRIPLES = [(f"p{i}", "parent_of", f"p{2 * i + 1}") for i in range(20)]
SIZES = {"embedding_dim": 4, "epochs": 1, "batch_size": 8}


def test_a_program_in_a_process_of_its_own(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    told = []
    lines = run_program("describe", {"dataset": "countries", "output": None}, told.append)
    assert lines[0] == "countries: 685 entities, 5 relations"
    assert told == lines


def test_output_in_another_encoding(monkeypatch, tmp_path):
    monkeypatch.setenv("PYTHONIOENCODING", "latin-1")
    with pytest.raises(DataError, match="Unknown dataset 'é'"):
        run_program("describe", {"dataset": "é"})


def test_the_message_of_a_program_that_fails():
    message = r"^`quatre describe` ended with exit code 1: Unknown dataset 'contries'\. Did you"
    with pytest.raises(DataError, match=message):
        run_program("describe", {"dataset": "contries"})


def test_a_message_with_an_error_in_it_is_kept_whole(tmp_path):
    pytest.importorskip("pyoxigraph")
    path = tmp_path / "x.nt"
    path.write_text("<a:s> <a:p> <a:o> .\n<a:s> <a:p> .\n", encoding="utf-8")
    message = rf"^`quatre describe` ended with exit code 1: {path}:2: expected .* an error: "
    with pytest.raises(DataError, match=message):
        run_program("describe", {"dataset": path})


@pytest.fixture
def flags(monkeypatch):
    """The flags that `fit` would be started with."""
    given = {}
    monkeypatch.setattr(training, "run_program", lambda name, flags, log: given.update(flags))
    monkeypatch.setattr(training, "load_run", lambda folder: folder)
    return given


def test_triples_are_kept_in_the_folder_of_the_run(flags, tmp_path):
    triples = [("Ann, sr.", "knows", "Bob"), ('"Q"', "likes", "Ann, sr.")]
    folder = quatre_tf.train(triples, run_dir=tmp_path / "run", budget_minutes=2)
    assert folder == tmp_path / "run"
    assert flags["dataset"] == folder / "triples.csv"
    assert (flags["budget_minutes"], flags["recipe"]) == (2, None)
    with flags["dataset"].open(encoding="utf-8", newline="") as file:
        header, *rows = map(tuple, csv.reader(file))
    assert header == ("head", "relation", "tail")
    assert rows == triples


def test_a_path_is_no_benchmark(flags, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for data, expected in [
        ("umls", "umls"),
        ("./umls", "./umls"),
        (pathlib.Path("umls"), tmp_path / "umls"),
    ]:
        quatre_tf.train(data)
        assert flags["dataset"] == expected


def test_missing_cells_are_no_names(tmp_path):
    table = pd.DataFrame({"head": ["a", "b"], "relation": ["r", "r"], "tail": ["b", None]})
    table["number"] = [1, None]
    for columns in (["head", "relation", "tail"], ["head", "relation", "number"]):
        message = r"strings or integers. Received in row [01]: \(.*Drop rows with missing cells"
        with pytest.raises(DataError, match=message):
            quatre_tf.train(table[columns], run_dir=tmp_path)


def test_names_of_runs(flags, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert quatre_tf.train("data/movies.csv").name.startswith("movies-")
    assert quatre_tf.train(TRIPLES).name.startswith("triples-")


def test_data_that_make_no_sense(tmp_path):
    with pytest.raises(DataError, match=r"Expected triples \[n, 3\].* shape \[2\]"):
        quatre_tf.train(("a", "b"), run_dir=tmp_path)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ConfigError, match="already holds a run"):
        quatre_tf.train(TRIPLES, run_dir=tmp_path)
