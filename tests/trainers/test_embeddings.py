"""The files of `quatre embeddings`, against a model whose rows are known."""

import csv
import dataclasses

import numpy as np
import pyarrow.parquet as pq
import pytest

from quatre_tf import Run
from tests import commands
from tests.quatre_tf.ranking.small_graph import NUMBERS, small_graph, small_model

# Counted by hand in the splits of `small_graph`: b likes b, d likes d count once.
DEGREES = {"a": 6, "b": 6, "c": 5, "d": 4, "e": 2, "f": 1}
LABELS = ["Anna, sr.", "", "", "", "", ""]
ROWS = [[number, 0, 0, 0] for number in NUMBERS.values()]


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    graph = dataclasses.replace(small_graph(), labels={"a": LABELS[0]})
    Run(small_model(a=1 / 3), graph, folder).save()
    return folder


@pytest.fixture
def written(run_dir, tmp_path):
    """`written(name)` -> the file, after the command."""

    def write(name):
        flags = [f"--run_dir={run_dir}", f"--output={tmp_path / name}"]
        code, printed = commands.run("trainers.embeddings", *flags, folder=tmp_path)
        assert code == 0, printed
        assert f"Wrote 6 embeddings of 4 floats: {tmp_path / name}" in printed
        return tmp_path / name

    return write


def expected_rows():
    rows = np.array(ROWS, np.float32)
    rows[0, 0] = np.float32(1 / 3)
    return rows


def test_npz(written):
    with np.load(written("rows.npz"), allow_pickle=False) as arrays:
        assert arrays["names"].tolist() == list(NUMBERS)
        assert arrays["labels"].tolist() == LABELS
        assert arrays["degrees"].tolist() == list(DEGREES.values())
        rows = arrays["embeddings"]
    assert (rows.dtype, rows.flags.c_contiguous) == (np.float32, True)
    np.testing.assert_array_equal(rows, expected_rows())


def test_parquet(written):
    table = pq.read_table(written("rows.parquet"))
    assert str(table.schema.field("embedding").type) == "fixed_size_list<element: float>[4]"
    columns = table.to_pydict()
    rows = columns.pop("embedding")
    assert columns == {
        "name": list(NUMBERS),
        "label": LABELS,
        "degree": list(DEGREES.values()),
    }
    np.testing.assert_array_equal(np.array(rows, np.float32), expected_rows())


def test_tsv(written):
    with written("rows.tsv").open(encoding="utf-8", newline="") as file:
        header, *lines = csv.reader(file, delimiter="\t")
    assert header == ["name", "label", "degree", "embedding"]
    assert [line[:3] for line in lines] == [
        [name, label, str(degree)]
        for (name, degree), label in zip(DEGREES.items(), LABELS, strict=True)
    ]
    rows = [[np.float32(value) for value in line[3].strip("[]").split(",")] for line in lines]
    np.testing.assert_array_equal(rows, expected_rows())


def test_other_formats_are_refused(run_dir, tmp_path):
    flags = [f"--run_dir={run_dir}", "--output=rows.csv"]
    code, printed = commands.run("trainers.embeddings", *flags, folder=tmp_path)
    assert code == 1
    message = "error: --output must end in .parquet, .npz, .tsv. Received: 'rows.csv'.\n"
    assert printed.endswith(message)
