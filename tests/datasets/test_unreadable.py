"""Paths that the system refuses: one line with the reason, not a traceback."""

import contextlib
import importlib
import os
import pathlib
import tempfile

import pytest

from datasets import catalog
from datasets.custom_dataset import Source, prepare
from datasets.readers.delimited import read_columns
from datasets.readers.input_files import read_input
from datasets.readers.rdf import read_rdf
from datasets.readers.text_format import TRIPLE_ROLES
from datasets.triples import read_triples
from quatre_tf import Graph, Vocabulary, read_labels
from quatre_tf.errors import DataError

NOBODY = 65534
READERS = {
    "triples": read_triples,
    "labels": read_labels,
    "vocabulary": Vocabulary.load,
    "delimited": lambda path: read_columns(path, TRIPLE_ROLES),
    "rdf": read_rdf,
}


@pytest.fixture
def folder():
    """A folder that every user can enter, which those of pytest are not."""
    with tempfile.TemporaryDirectory() as path:
        os.chmod(path, 0o755)
        for split in ("train", "valid", "test"):
            pathlib.Path(path, f"{split}.txt").write_text("a\tr\tb\n")
        yield pathlib.Path(path)


@contextlib.contextmanager
def forbidden(path):
    """Takes all rights away, also those of root."""
    # A reader imports it when it is needed, from an environment that may be closed to nobody.
    importlib.import_module("pyoxigraph")
    path.chmod(0)
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)
        path.chmod(0o755)


@pytest.mark.parametrize("reader", READERS)
def test_a_file_that_may_not_be_read(folder, reader):
    with forbidden(folder / "train.txt"), pytest.raises(DataError, match=r"train\.txt.*denied"):
        READERS[reader](folder / "train.txt")


@pytest.mark.parametrize("reader", READERS)
def test_a_folder_in_place_of_a_file(folder, reader):
    with pytest.raises(DataError, match="Is a directory"):
        READERS[reader](folder)


@pytest.mark.parametrize(
    "read",
    [
        lambda folder: catalog.load(str(folder)),
        lambda folder: read_input(Source(folder)),
        lambda folder: prepare(Source(__file__), folder),
        lambda folder: Graph.load(folder),
    ],
    ids=["data set", "input", "output", "graph of a run"],
)
def test_a_folder_that_may_not_be_entered(folder, read):
    with forbidden(folder), pytest.raises(DataError, match=r"Cannot read .*ermission ?(E|d)"):
        read(folder)
