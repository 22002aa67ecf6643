"""The walls between the rooms (docs/design.md)."""

import ast
import pathlib

import pytest

ROOT = pathlib.Path(__file__).parent.parent
# What each room may import of the project.
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


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_imports_point_down(room):
    files = sorted((ROOT / room).rglob("*.py"))
    assert files
    forbidden = (set(MAY_IMPORT) | {"tests"}) - MAY_IMPORT[room]
    offences = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in files
        for name in imported_modules(path)
        if name.split(".")[0] in forbidden
    ]
    assert offences == []


def test_reference_imports_nothing_of_ours():
    names = {name.split(".")[0] for name in imported_modules(ROOT / "tests" / "reference.py")}
    assert names == {"numpy"}
