"""The wheel, and the `quatre` command in a folder that is not a checkout."""

import os
import shutil
import subprocess
import sys
import zipfile

import pytest

from quatre_tf import __version__
from tests.documents import ROOT

PACKAGES = ("quatre_tf", "datasets", "saved_models", "trainers")
NOT_INSTALLED = {".md", ".pyc"}
# `python -m quatre_tf` is what the script `quatre` calls.
QUATRE = [sys.executable, "-m", "quatre_tf"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built from a copy: setuptools would leave a folder `build` in the checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    for package in PACKAGES:
        ignored = shutil.ignore_patterns("__pycache__", "exports")
        shutil.copytree(ROOT / package, source / package, ignore=ignored)
    for name in ("setup.py", "pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, source)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    command += ["--no-build-isolation", f"--wheel-dir={folder}", source]
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    return zipfile.ZipFile(folder / f"quatre_tf-{__version__}-py3-none-any.whl")


@pytest.fixture(scope="module")
def site_packages(wheel, tmp_path_factory):
    """The unpacked wheel next to another package `datasets`."""
    folder = tmp_path_factory.mktemp("site")
    wheel.extractall(folder)
    (folder / "datasets").mkdir()
    (folder / "datasets" / "__init__.py").write_text("OWNER = 'Hugging Face'\n")
    return folder


@pytest.fixture
def run(site_packages, tmp_path):
    """`run(command)` -> (exit code, stdout, stderr) in an empty folder."""

    def call(*command, **environment):
        environment = {**os.environ, "PYTHONPATH": str(site_packages), **environment}
        done = subprocess.run(
            [*map(str, command)],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        return done.returncode, done.stdout, done.stderr

    return call


def test_wheel_holds_every_module_and_data_file(wheel):
    files = {
        path.relative_to(ROOT)
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and path.suffix not in NOT_INSTALLED
    }
    files = {path for path in files if path.parts[:2] != ("saved_models", "exports")}
    files = {path for path in files if path.parts[:2] != ("saved_models", "serving")}
    expected = {
        str(path) if path.parts[0] == "quatre_tf" else f"quatre_tf/_programs/{path}"
        for path in files
    }
    metadata = f"quatre_tf-{__version__}.dist-info/"
    assert {name for name in wheel.namelist() if not name.startswith(metadata)} == expected
    script = "[console_scripts]\nquatre = quatre_tf.__main__:main\n"
    assert wheel.read(f"{metadata}entry_points.txt").decode() == script


def test_the_command_has_its_own_datasets(run):
    code, out, err = run(*QUATRE, "describe", "--dataset=countries")
    assert (code, err) == (0, "")
    assert "official_language" in out


def test_datasets_of_other_programs_is_hugging_faces(run):
    check = "import datasets, quatre_tf; quatre_tf.Graph; print(datasets.OWNER)"
    assert run(sys.executable, "-c", check) == (0, "Hugging Face\n", "")


def test_command_and_module_are_one_program(run):
    flags = ("fit", "--dataset=wn18rr", "--recipe=sampled", "--print_config")
    code, out, err = run(*QUATRE, *flags)
    assert (code, err) == (0, "")
    module = run(sys.executable, "-m", "trainers.fit", *flags[1:], PYTHONPATH=str(ROOT))
    assert module == (0, out, "")


def test_unknown_program(run):
    message = "error: Unknown program 'eval'. Did you mean 'evaluate'?\n"
    assert run(*QUATRE, "eval") == (1, "", message)
    assert run(*QUATRE, "xyz") == (1, "", "error: Unknown program 'xyz'. See: quatre --help\n")


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("quatre ex", {"explore", "export"}),
        (
            "quatre fit --model=quatre_",
            {"--model=quatre_affine", "--model=quatre_head", "--model=quatre_tail"},
        ),
        ("quatre fit --dataset=cou", {"--dataset=countries"}),
        ("quatre predict --format=", {"--format=table", "--format=csv", "--format=json"}),
    ],
)
def test_completion(run, tmp_path, typed, expected):
    file = tmp_path / "completions"
    environment = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(file),
        "COMP_LINE": typed,
        "COMP_POINT": str(len(typed)),
    }
    run(*QUATRE, **environment)
    assert {name.strip() for name in file.read_text().split("\n")} == expected
