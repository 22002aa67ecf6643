"""What the packages may import (docs/design.md), and what no file of the project does.

That is to unpickle, unpack to disk, evaluate text or serve strangers.
"""

import ast

import pytest

from tests.documents import ROOT

# The packages of the project that each package may import.
MAY_IMPORT = {
    "quatre_tf": {"quatre_tf"},
    "datasets": {"datasets", "quatre_tf"},
    "saved_models": {"saved_models", "quatre_tf", "datasets"},
    "trainers": {"trainers", "saved_models", "quatre_tf", "datasets"},
    "examples": {"examples", "trainers", "saved_models", "quatre_tf", "datasets"},
    "benchmarks": {"benchmarks", "trainers", "saved_models", "quatre_tf", "datasets"},
}


def imported_modules(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_imports_point_down(package):
    files = sorted((ROOT / package).rglob("*.py"))
    assert files
    forbidden = (set(MAY_IMPORT) | {"tests"}) - MAY_IMPORT[package]
    offences = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in files
        for name in imported_modules(path)
        if name.split(".")[0] in forbidden
    ]
    assert offences == []


@pytest.mark.parametrize("package", ["quatre_tf", "datasets", "saved_models", "trainers"])
def test_tests_of_a_package_use_public_names_of_others(package):
    """So a module that moves inside its package breaks no tests of another."""
    offences = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in (ROOT / "tests" / package).rglob("*.py")
        for name in imported_modules(path)
        if name.split(".")[0] in MAY_IMPORT.keys() - {package} and name.count(".") > 1
    ]
    assert offences == []


def test_reference_imports_nothing_of_ours():
    names = {name.split(".")[0] for name in imported_modules(ROOT / "tests" / "reference.py")}
    assert names == {"numpy"}


ROOMS = ("quatre_tf", "datasets", "saved_models", "trainers", "examples")
FILES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
# Modules whose readers run what is in the file.
UNPICKLING = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal", "torch"}
UNSAFE = {"eval", "exec", "extract", "extractall", "unpack_archive", "system", "popen", "mktemp"}
# Files that may listen, and at which address.
LISTENING = {"trainers/explorer/server.py", "trainers/training/strategies.py"}
LISTENERS = {"bind", "listen", "create_server", "make_server", "HTTPServer", "serve_forever"}


def calls(path):
    """(name, keywords) of each call: of `a.b.c(d=1)` "c" and {"d": node}."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            yield name, {keyword.arg: keyword.value for keyword in node.keywords}


@pytest.mark.parametrize("room", ROOMS)
def test_nothing_is_unpickled_unpacked_or_evaluated(room):
    for path in (file for file in FILES if file.is_relative_to(ROOT / room)):
        modules = {name.split(".")[0] for name in imported_modules(path)}
        assert UNPICKLING.isdisjoint(modules), path
        for name, keywords in calls(path):
            assert name not in UNSAFE, f"{path}: {name}"
            assert "shell" not in keywords, path
            # Arrays are mapped (numpy.lib.format.open_memmap), which cannot unpickle.
            assert not {"allow_pickle", "safe_mode"} & keywords.keys(), path


def test_who_listens():
    found = {
        path.relative_to(ROOT).as_posix()
        for path in FILES
        for name, keywords in calls(path)
        if name in LISTENERS and path.name != "application.py"  # werkzeug.routing.Map.bind
    }
    assert found <= LISTENING | {"trainers/explore.py", "trainers/fit.py"}
    server = (ROOT / "trainers" / "explorer" / "server.py").read_text(encoding="utf-8")
    assert '_HOST = "127.0.0.1"' in server
    assert "0.0.0.0" not in "".join(path.read_text(encoding="utf-8") for path in FILES)
