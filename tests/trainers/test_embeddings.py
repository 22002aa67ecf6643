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
DEGREES = [6, 6, 5, 4, 2, 1]
LABELS = ["Anna, sr.", "", "", "", "", ""]
COLUMNS = ["name", "label", "degree", "embedding"]
# A third shows whether digits are lost.
ROWS = [[float(np.float32(x)), 0, 0, 0] for x in (NUMBERS | {"a": 1 / 3}).values()]


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    graph = dataclasses.replace(small_graph(), labels={"a": LABELS[0]})
    Run(small_model(a=1 / 3), graph, folder).save()
    return folder


def read_npz(path):
    with np.load(path, allow_pickle=False) as arrays:
        rows = arrays["embeddings"]
        assert (rows.dtype, rows.flags.c_contiguous) == (np.float32, True)
        return [arrays[name].tolist() for name in ("names", "labels", "degrees", "embeddings")]


def read_parquet(path):
    table = pq.read_table(path)
    assert str(table.schema.field("embedding").type) == "fixed_size_list<element: float>[4]"
    assert table.column_names == COLUMNS
    return list(table.to_pydict().values())


def read_tsv(path):
    with path.open(encoding="utf-8", newline="") as file:
        header, *lines = csv.reader(file, delimiter="\t")
    assert header == COLUMNS
    names, labels, degrees, rows = map(list, zip(*lines, strict=True))
    floats = [np.array(row.strip("[]").split(","), np.float32).tolist() for row in rows]
    return [names, labels, list(map(int, degrees)), floats]


@pytest.mark.parametrize(
    ("suffix", "read"), [(".npz", read_npz), (".parquet", read_parquet), (".tsv", read_tsv)]
)
def test_names_labels_degrees_and_rows(run_dir, tmp_path, suffix, read):
    path = tmp_path / f"rows{suffix}"
    flags = [f"--run_dir={run_dir}", f"--output={path}"]
    code, printed = commands.run("trainers.embeddings", *flags, folder=tmp_path)
    assert code == 0, printed
    assert f"Wrote 6 embeddings of 4 floats: {path}" in printed
    assert read(path) == [list(NUMBERS), LABELS, DEGREES, ROWS]


def test_other_formats_are_refused(run_dir, tmp_path):
    flags = [f"--run_dir={run_dir}", "--output=rows.csv"]
    code, printed = commands.run("trainers.embeddings", *flags, folder=tmp_path)
    assert code == 1
    message = "error: --output must end in .parquet, .npz, .tsv. Received: 'rows.csv'.\n"
    assert printed.endswith(message)
