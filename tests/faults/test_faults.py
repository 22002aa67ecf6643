"""That the harness works: docs/robustness.md has the commands that search."""

import shutil
import subprocess
import sys

import pytest

from tests.commands import ROOT


@pytest.mark.skipif(sys.platform != "linux", reason="it preloads a library")
def test_runs_whose_system_calls_fail():
    if not shutil.which("cc"):
        pytest.skip("there is no C compiler")
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.inject", "--runs=1", "--first_seed=2"],
        cwd=ROOT,
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "1 runs, " in done.stderr
    assert " 0 faults" not in done.stderr
