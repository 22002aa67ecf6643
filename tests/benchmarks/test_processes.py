import sys

import pytest

from benchmarks import processes
from quatre_tf.errors import DataError


def python(code):
    return [sys.executable, "-S", "-c", code]


def test_seconds_of_a_command():
    assert 0.2 < processes.seconds(python("import time; time.sleep(.2)")) < 30
    with pytest.raises(DataError, match=r"exit code 1\. It said: oh no$"):
        processes.seconds(python("raise SystemExit('before\\noh no')"))


def test_a_command_is_ended_when_its_file_has_grown(tmp_path):
    path = tmp_path / "lines"
    code = "import time; time.sleep(.2); open({!r}, 'a').write('x'); time.sleep(600)"
    for _ in range(2):
        assert 0.2 < processes.seconds_until_grown(python(code.format(str(path))), path) < 30
    assert path.read_text() == "xx"


def test_a_command_that_writes_nothing(tmp_path):
    with pytest.raises(DataError, match="exit code 0"):
        processes.seconds_until_grown(python("pass"), tmp_path / "lines")


def test_medians_leave_out_the_first_round():
    times = {"a": iter([9.0, 1.0, 5.0, 2.0]), "b": iter([0.0, 3.0, 3.0, 4.0])}
    timed = {name: values.__next__ for name, values in times.items()}
    assert processes.medians(timed, rounds=3) == {"a": 2.0, "b": 3.0}
