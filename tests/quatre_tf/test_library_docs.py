"""docs/library.md, executed from top to bottom."""

import contextlib
import io
import re

import numpy as np
import pytest

from tests.documents import ROOT, blocks

LIBRARY = ROOT / "docs" / "library.md"
PAGE = LIBRARY.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """Returns the names that the blocks leave behind, and what they print."""
    names, printed = {"__name__": "library"}, io.StringIO()
    folder = tmp_path_factory.mktemp("library")
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.chdir(folder)
        for block in blocks(LIBRARY, "python"):
            exec(compile(block.text, str(block), "exec"), names)
    return names, printed.getvalue(), folder


def test_the_model_learns(executed):
    names, _, folder = executed
    # Frequencies alone reach 0.125 on the test split (tests/trainers/training/test_learning.py).
    assert names["test"].figures(names["model"])["mrr"] > 0.25
    assert len(names["history"].history["val_mrr"]) == 2
    assert len((folder / "log.csv").read_text(encoding="utf-8").splitlines()) == 3


def test_shapes_in_comments_hold(executed):
    names, printed, _ = executed
    for name, shape in re.findall(r"^(\w+) = .*  # (\[.*\])$", PAGE, re.MULTILINE):
        assert str(list(names[name].shape)) == shape
    assert re.search(r"^\['.+' '.+' '.+'\]$", printed, re.MULTILINE)


def test_the_own_layer_is_distmult_after_loading(executed):
    names, _, folder = executed
    own = names["keras"].models.load_model(folder / "own.keras")
    h, r, t = names["graph"].test.T
    entities, factors = (table.astype(np.float64) for table in own.tables().values())
    expected = np.sum(entities[h] * factors[r] * entities[t], axis=1)
    np.testing.assert_allclose(
        own.predict(names["graph"].test, verbose=0), expected, rtol=1e-4, atol=1e-6
    )


def test_the_table_holds(executed):
    names, _, _ = executed
    (batch,) = names["batches"].take(1)
    triples, labels = names["labelled_triples"](batch)
    size, negatives = batch["corrupted"].shape
    found = {**batch, "labelled_triples(batch)[0]": triples, "labelled_triples(batch)[1]": labels}
    sizes = {"batch": size, "num_negatives": negatives}
    rows = re.findall(r"^\| (`.*?`) \| \[(.*?)\] (\w+) \|", PAGE, re.MULTILINE)
    documented = {
        name: ([eval(part, sizes) for part in re.split(r", (?![^(]*\))", shape)], dtype)
        for cell, shape, dtype in rows
        for name in re.findall("`(.*?)`", cell)
    }
    assert documented == {
        name: (value.shape.as_list(), value.dtype.name) for name, value in found.items()
    }
