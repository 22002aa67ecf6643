import gzip
import hashlib
import os

import pytest

from datasets import catalog
from datasets.catalog import COUNTRIES
from quatre_tf.errors import DataError, UnknownNameError
from tests import commands
from tests.datasets.tiny_archive import TINY_NEGATIVES

ENTITIES = ["a", "b", "c"]


def test_importing_the_catalogue_is_light():
    heavy = {"tensorflow", "tensorflow_datasets"}
    code = f"import sys, datasets.catalog; print({heavy} & {{*sys.modules}})"
    assert commands.launch("-c", code) == (0, "set()\n", "")


# Results on `countries` stay comparable: the files are frozen, and Git must keep their line ends.
FROZEN = {
    "train": "2b3fcc9bdedcf75d3726e4d871ba4cba8772833ceb52ae532ca2eeca25aadc4c",
    "valid": "5dd0900503e0579ea6de1c6200c48548458afee7f9f6eac3d35d6d9309b5bdf8",
    "test": "1ffe0857824dc686cc04fdf6c63df6a89df1b0750b6e609fd29b90fa54165158",
}


@pytest.mark.parametrize("split", FROZEN)
def test_files_of_countries_are_frozen(split):
    content = (COUNTRIES / f"{split}.txt").read_bytes()
    assert hashlib.sha256(content).hexdigest() == FROZEN[split]


def test_folder_with_other_suffixes_and_labels(folder):
    plain = catalog.load(str(folder))
    assert (plain.name, plain.labels) == ("mine", {})
    assert [len(plain.split(split)) for split in ("train", "valid", "test")] == [3, 1, 2]
    (folder / "train.txt").rename(folder / "train.tsv")
    (folder / "valid.tsv.gz").write_bytes(gzip.compress((folder / "valid.txt").read_bytes()))
    (folder / "valid.txt").unlink()
    (folder / "labels.tsv").write_text("a\tAnna\nother\tnobody\na\tAnne\n")

    graph = catalog.load(str(folder))

    assert list(graph.entities.names) == ENTITIES
    assert graph.labels == {"a": "Anna"}


def test_folder_with_labelled_negatives(folder):
    (folder / "test_negatives.tsv").write_bytes(TINY_NEGATIVES["test_negatives"])
    [(split, triples)] = catalog.load(str(folder)).negatives.items()
    # Entities a, b, c; relations knows, likes.
    assert (split, triples.tolist()) == ("test", [[2, 1, 1], [0, 0, 2]])


@pytest.mark.parametrize("dataset", ["mine", "./mine", "mine/", "../here/mine", "~/mine"])
def test_relative_paths_and_home(folder, monkeypatch, dataset):
    here = folder.parent / "here"
    folder.parent.joinpath("here").mkdir()
    folder.rename(here / "mine")
    monkeypatch.chdir(here)
    monkeypatch.setenv("HOME", str(here))
    assert list(catalog.load(dataset).entities.names) == ENTITIES


def test_a_name_goes_before_a_folder_of_the_same_name(folder, monkeypatch):
    folder.rename(folder.parent / "countries")
    monkeypatch.chdir(folder.parent)
    assert catalog.load("countries").num_entities > len(ENTITIES)
    assert list(catalog.load("./countries").entities.names) == ENTITIES


def test_unknown_name(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnknownNameError) as error:
        catalog.load("wn18r")
    assert error.value.suggestions == ("wn18rr",)
    assert str(error.value) == (
        "Unknown dataset 'wn18r'. Did you mean 'wn18rr'? Available: wn18rr, fb15k237, wn18, fb15k, "
        "umls, kinship, nations, codex-s, codex-m, codex-l, yago3-10, countries, or the path of a "
        "file of triples or of a folder with train.txt, valid.txt and test.txt."
    )


@pytest.mark.parametrize("dataset", ["./nowhere", f"no{os.sep}where", "~/nowhere"])
def test_a_path_that_is_not_there(dataset):
    with pytest.raises(DataError, match=f"There is no file or folder {dataset}"):
        catalog.load(dataset)


def test_a_file_is_split(tmp_path):
    lines = [f"n{i}\tnext\tn{(i + step) % 20}\n" for i in range(20) for step in (1, 2, 3)]
    path = tmp_path / "facts.tsv"
    path.write_text("".join(lines))
    graph = catalog.load(str(path))
    assert (graph.name, len(graph.known), len(graph.valid)) == ("facts", 60, 6)
    assert catalog.is_file(str(path))
    assert not catalog.is_file(str(tmp_path))
    assert not catalog.is_file("countries")


def test_labels_that_would_not_be_read(folder):
    (folder / "labels.txt~").write_text("an editor's")
    catalog.load(str(folder))
    (folder / "labels.csv").write_text("a,Anna\n")
    with pytest.raises(DataError, match=r"has labels\.csv, but .* only labels\.tsv is read"):
        catalog.load(str(folder))


def test_splits_that_are_missing_or_there_twice(folder):
    (folder / "test.tsv").write_text("a\tlikes\tb\n")
    with pytest.raises(DataError, match=r"received test.txt and test.tsv. Remove all but one"):
        catalog.load(str(folder))
    (folder / "valid.txt").unlink()
    with pytest.raises(DataError, match=r"the split valid is missing, expected one of valid.txt"):
        catalog.load(str(folder))
