"""Files that are replaced whole."""

import os
import subprocess
import sys

import pytest

from quatre_tf.atomic_files import output_file, whole_file, write_text
from quatre_tf.errors import DataError


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_block_that_fails_changes_nothing(tmp_path, error):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def write():
        with whole_file(path) as file:
            file.write("new")
            raise error

    with pytest.raises(error):
        write()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_two_that_write_one_file_leave_one_whole(tmp_path):
    path = tmp_path / "a.txt"
    with whole_file(path) as first:
        first.write("first\n")
        write_text(path, "secönd")
        assert path.read_bytes() == "secönd".encode()
    assert path.read_bytes() == b"first\n"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_it_keeps_who_may_read_it(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o600)
    write_text(path, "new")
    assert path.stat().st_mode & 0o777 == 0o600


def test_of_a_link_its_file_is_replaced(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "a.txt")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "a.txt").read_text() == "new"
    assert (tmp_path / "link").is_symlink()


def test_standard_output_that_is_a_pipe():
    code = "from quatre_tf.atomic_files import write_text; write_text('/dev/stdout', 'new')"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "new"


def test_a_person_reads_which_path_and_why(tmp_path, monkeypatch):
    missing = tmp_path / "none" / "a.txt"
    with (
        pytest.raises(DataError, match=f"^Cannot write {missing}: No such file or directory.$"),
        output_file(missing),
    ):
        pass
    monkeypatch.setenv("HOME", str(tmp_path))
    with output_file("~/a.txt") as file:
        file.write("new")
    assert (tmp_path / "a.txt").read_text() == "new"
