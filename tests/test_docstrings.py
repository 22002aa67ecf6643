"""The examples of docstrings, and the Python on pages, executed."""

import doctest
import importlib
import pathlib
import pkgutil

import pytest

from examples import openke_to_names
from tests.documents import PAGES, ROOT, blocks

PACKAGES = ("quatre_tf", "datasets", "saved_models", "trainers")
PYTHON = [block for page in PAGES for block in blocks(page, "python")]
CONSOLE = [block for page in PAGES for block in blocks(page, "pycon")]


def _modules():
    for package in PACKAGES:
        for module in pkgutil.walk_packages([str(ROOT / package)], f"{package}."):
            path = ROOT / pathlib.Path(*module.name.split("."))
            source = path / "__init__.py" if module.ispkg else path.with_suffix(".py")
            if ">>> " in source.read_text(encoding="utf-8"):
                yield module.name


def _run(test):
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    report = []
    runner.run(test, out=report.append)
    assert runner.failures == 0, "".join(report)
    assert runner.tries > 0


@pytest.mark.parametrize("name", list(_modules()))
def test_examples_of_docstrings(name):
    module = importlib.import_module(name)
    tests = [test for test in doctest.DocTestFinder().find(module) if test.examples]
    assert tests
    for test in tests:
        _run(test)


@pytest.mark.parametrize("block", CONSOLE, ids=str)
def test_sessions_of_pages(block):
    _run(doctest.DocTestParser().get_doctest(block.text, {}, str(block), str(block.page), 0))


def test_conversion_of_openke(tmp_path):
    source, target = tmp_path / "openke", tmp_path / "data" / "umls"
    source.mkdir()
    (source / "entity2id.txt").write_text(
        "3\nacquired abnormality\t1\nvirus\t0\nce\u2028ll\t2\n\n", "utf-8"
    )
    (source / "relation2id.txt").write_text("2\naffects\t0\nis a\t1\n")
    # The number of lines, then head, tail, relation.
    for split, line in (("train", "0 2 0"), ("valid", "1 2 1"), ("test", "2 0 1")):
        (source / f"{split}2id.txt").write_text(f"1\n{line}\n\n")
    openke_to_names.convert(source, target)
    assert (target / "train.txt").read_text() == "virus\taffects\tce\u2028ll\n"
    assert (target / "valid.txt").read_text() == "acquired abnormality\tis a\tce\u2028ll\n"
    assert (target / "test.txt").read_text() == "ce\u2028ll\tis a\tvirus\n"


@pytest.mark.parametrize("block", PYTHON, ids=str)
def test_python_of_pages(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if block.mark.startswith("run by "):
        test = ROOT / block.mark.removeprefix("run by ")
        assert block.page.name in test.read_text(encoding="utf-8")
    elif not block.mark.startswith("not run: "):
        exec(compile(block.text, str(block), "exec"), {"__name__": "page"})
