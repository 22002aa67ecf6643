"""docs/python.md from top to bottom, and the runs of two more pages, on a shorter training."""

import contextlib
import io
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
    """Returns the names that the blocks leave behind, and what they print."""
    folder = tmp_path_factory.mktemp("python")
    names, printed = {"__name__": "python"}, io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.chdir(folder)
        for module in (run, training):
            patch.setattr(module, "run_program", short_program)
        pages = (PYTHON, ROOT / "README.md", ROOT / "docs" / "large_graphs.md")
        for block in (block for page in pages for block in blocks(page, "python")):
            if block.mark == "run by tests/quatre_tf/runs/test_run_docs.py":
                exec(compile(block.text, str(block), "exec"), names)
    return names, printed.getvalue()


def test_shapes_in_comments_hold(executed):
    names, _ = executed
    shapes = re.findall(r"^(\w+) = .*  # (\[.*\])$", PAGE, re.MULTILINE)
    assert len(shapes) == 4
    for name, shape in shapes:
        assert str(list(names[name].shape)) == shape


def test_the_index_finds_the_answers_of_the_model(executed):
    names, _ = executed
    answers = names["run"].predict("Egypt", "official_language", top_k=3, filtered=False)
    assert [answer.entity for answer in answers] == [
        *names["run"].graph.entities.names[names["ids"][0]]
    ]
    expected = [answer.score for answer in answers]
    np.testing.assert_allclose(names["products"][0], expected, rtol=1e-4)
