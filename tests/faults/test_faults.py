"""That the harness works: docs/robustness.md has the commands that search."""

import shutil
import sys

import pytest

from tests import commands


@pytest.mark.skipif(sys.platform != "linux", reason="it preloads a library")
def test_runs_whose_system_calls_fail():
    if not shutil.which("cc"):
        pytest.skip("there is no C compiler")
    code, _, told = commands.launch("-m", "tests.faults.inject", "--runs=1", "--first_seed=2")
    assert code == 0, told
    assert "1 runs, " in told
    assert " 0 faults" not in told
