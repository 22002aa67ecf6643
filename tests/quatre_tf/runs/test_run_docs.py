"""docs/python.md from top to bottom, and the runs of two more pages, on a shorter training."""

import pathlib
import re

import numpy as np
import pytest

from quatre_tf.runs import run, training
from tests import commands
from tests.documents import ROOT, blocks
from tests.trainers.training.wiring import config_of, eagerly
from trainers.training import fitting

PYTHON = ROOT / "docs" / "python.md"
PAGE = PYTHON.read_text(encoding="utf-8")


def short_program(name, flags, log=None):
    """Trains uncompiled, with few steps; other programs are forked from one with TensorFlow."""
    given = [f"--{flag}={value}" for flag, value in flags.items() if value is not None]
    if name == "fit":
        with eagerly():
            fitting.train(config_of(*given, "--epochs=1", "--steps_per_epoch=2"), flags["run_dir"])
        return []
    code, told = commands.type_in(["quatre", name, *given], ".")
    assert code == 0, told
    return told.splitlines()


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """Returns the names that the blocks leave behind."""
    names = {"__name__": "python"}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("python"))
        for module in (run, training):
            patch.setattr(module, "run_program", short_program)
        pages = (PYTHON, ROOT / "README.md", ROOT / "docs" / "large_graphs.md")
        for block in (block for page in pages for block in blocks(page, "python")):
            if block.mark == "run by tests/quatre_tf/runs/test_run_docs.py":
                exec(compile(block.text, str(block), "exec"), names)
    return names


def test_shapes_in_comments_hold(executed):
    shapes = re.findall(r"^(\w+) = .*  # (\[.*\])$", PAGE, re.MULTILINE)
    assert len(shapes) == 4
    for name, shape in shapes:
        assert str(list(executed[name].shape)) == shape


def test_the_folder_of_the_export_is_returned(executed):
    assert executed["version"] == pathlib.Path("exports/countries/1")


def test_the_index_finds_the_answers_of_the_model(executed):
    answers = executed["run"].predict("Egypt", "official_language", top_k=3, filtered=False)
    assert [answer.entity for answer in answers] == [
        *executed["run"].graph.entities.names[executed["ids"][0]]
    ]
    expected = [answer.score for answer in answers]
    np.testing.assert_allclose(executed["products"][0], expected, rtol=1e-4)
