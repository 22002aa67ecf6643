"""The programs as a person starts them, on the example of docs/own_data.md."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
ELEMENTS = ROOT / "examples" / "elements"
QUIET = {k: v for k, v in os.environ.items() if k != "TF_CPP_MIN_LOG_LEVEL"}


def run(module, *arguments):
    """Returns (exit code, stdout, stderr)."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, env=QUIET, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_prepare_and_describe(tmp_path):
    """The tutorial shows what is printed, so what is printed may not change unnoticed."""
    out = tmp_path / "elements"
    code, printed, errors = run(
        "datasets.prepare",
        f"--input={ELEMENTS / 'facts.csv'}",
        f"--labels={ELEMENTS / 'labels.csv'}",
        f"--output={out}",
    )
    assert (code, errors) == (0, "")
    page = (ROOT / "docs" / "own_data.md").read_text(encoding="utf-8")
    assert printed.replace(str(out), "data/elements").strip() in page
    code, described, errors = run("datasets.describe", f"--dataset={out}", f"--output={out}.json")
    assert (code, errors) == (0, "")
    assert described.strip() in printed
    code, as_json, errors = run("datasets.describe", f"--dataset={out}", "--format=json")
    facts = json.loads(as_json)
    assert facts == json.loads(pathlib.Path(f"{out}.json").read_text())
    report = json.loads((out / "report.json").read_text())
    assert facts == {key: value for key, value in report.items() if key != "preparation"}


@pytest.mark.parametrize("module", ["datasets.prepare", "datasets.describe"])
def test_help_needs_nothing_heavy(module):
    """Blocking the imports is a sharper test than a clock."""
    heavy = ("tensorflow", "keras", "pyoxigraph")
    code = (
        f"import sys, runpy; sys.modules.update(dict.fromkeys({heavy}));"
        f"sys.argv = ['{module}', '--help']; runpy.run_module('{module}', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert "--output" in done.stdout
    assert done.stderr == ""
