"""What no file of the project does: unpickle, unpack to disk, evaluate text, serve strangers."""

import ast

import pytest

from tests.documents import ROOT
from tests.test_architecture import imported_modules

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
