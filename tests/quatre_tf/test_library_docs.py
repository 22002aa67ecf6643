"""docs/keras.md, executed from top to bottom."""

import numpy as np
import pytest

from tests.documents import ROOT, blocks

LIBRARY = ROOT / "docs" / "keras.md"


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """Returns the names that the blocks leave behind, and the folder that they ran in."""
    names, folder = {"__name__": "library"}, tmp_path_factory.mktemp("library")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for block in blocks(LIBRARY, "python"):
            exec(compile(block.text, str(block), "exec"), names)
    return names, folder


def test_the_model_learns(executed):
    names, folder = executed
    # Frequencies alone reach 0.125 on the test split (tests/trainers/training/test_learning.py).
    assert names["test"].figures(names["model"])["mrr"] > 0.25
    assert len(names["history"].history["val_mrr"]) == 2
    assert len((folder / "log.csv").read_text(encoding="utf-8").splitlines()) == 3


def test_the_own_layer_is_distmult_after_loading(executed):
    names, folder = executed
    own = names["keras"].models.load_model(folder / "own.keras")
    h, r, t = names["graph"].test.T
    entities, factors = (table.astype(np.float64) for table in own.tables().values())
    expected = np.sum(entities[h] * factors[r] * entities[t], axis=1)
    np.testing.assert_allclose(
        own.predict(names["graph"].test, verbose=0), expected, rtol=1e-4, atol=1e-6
    )
