import os
import sys

import pytest

from benchmarks import peer_environments as environments
from quatre_tf.errors import DataError


def python(code):
    return [sys.executable, "-S", "-c", code]


def test_the_last_line_is_the_result():
    assert environments.last_object('1 of 2\n{"no": 1}\n{"seconds": 2.5}\n') == {"seconds": 2.5}


@pytest.mark.parametrize("output", ["", "done\n", "3\n", '{"seconds": 1}\ndone\n'])
def test_another_last_line(output):
    with pytest.raises(DataError, match="Expected a JSON object as the last line"):
        environments.last_object(output)


def test_run():
    code = "import os; print('hello'); print('{\"n\": ' + os.environ['N'] + '}')"
    assert environments.run(python(code), {**os.environ, "N": "7"}) == {"n": 7}


def test_all_that_a_failing_process_said_is_shown(capfd):
    code = "import sys; print('first'); sys.exit('last')"
    with pytest.raises(DataError, match="exit code 1; what it said is above"):
        environments.run(python(code), os.environ)
    assert capfd.readouterr().err == "first\nlast\n"


def test_a_killed_process():
    with pytest.raises(DataError, match="too much memory"):
        environments.run(python("import os; os.kill(os.getpid(), 9)"), os.environ)


@pytest.mark.parametrize("peer", ["pykeen", "biggraph"])
def test_requirements_are_pinned(peer):
    requirements = environments.requirements_of(peer, "torch==1.2")
    assert requirements[0] == "torch==1.2"
    assert all("==" in requirement for requirement in requirements)


def test_an_environment_that_is_there_is_not_made_again(tmp_path, monkeypatch):
    monkeypatch.setattr(environments.subprocess, "run", None)
    (tmp_path / "pykeen").mkdir()
    mark = "".join(f"{line}\n" for line in environments.requirements_of("pykeen"))
    (tmp_path / "pykeen" / "requirements.txt").write_text(mark)
    python = environments.ensure(tmp_path, "pykeen")
    assert python == tmp_path / "pykeen" / "bin" / "python"


def test_a_failed_installation_says_what_to_do(tmp_path, monkeypatch):
    commands = []

    class Done:
        def __init__(self, command, check):
            commands.append(command)
            self.returncode = int("pip" in command)

    monkeypatch.setattr(environments.subprocess, "run", Done)
    with pytest.raises(DataError, match=r"PIP_FIND_LINKS.*--torch=torch==2\.13\.0, which may"):
        environments.ensure(tmp_path, "biggraph")
    assert commands[0][1:] == ["-m", "venv", "--clear", str(tmp_path / "biggraph")]
    assert commands[1][1:4] == ["-m", "pip", "install"]
    assert not (tmp_path / "biggraph" / "requirements.txt").exists()
