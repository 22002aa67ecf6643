"""Import rules of the packages (docs/design.md)."""

import ast
import pathlib

import pytest

ROOT = pathlib.Path(__file__).parent.parent
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
