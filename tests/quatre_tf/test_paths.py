import os
import socket

import pytest

from quatre_tf.errors import DataError
from quatre_tf.paths import check_regular, printable, user_path


def test_home_folders(monkeypatch):
    monkeypatch.setenv("HOME", "/home/somebody")
    assert os.fspath(user_path("~/runs")) == "/home/somebody/runs"
    assert os.fspath(user_path("./~x")) == "~x"
    assert os.fspath(user_path("a/~")) == "a/~"


@pytest.mark.parametrize("path", ["~nosuchuser/x", "~nosuchuser"])
def test_users_who_do_not_exist(path):
    with pytest.raises(DataError, match=r"no home folder of ~nosuchuser\..* write ./~nosuchuser"):
        user_path(path)


@pytest.mark.parametrize("path", ["loop", "loop/run"])
def test_loops_of_links(tmp_path, path):
    (tmp_path / "loop").symlink_to("other")
    (tmp_path / "other").symlink_to("loop")
    with pytest.raises(DataError, match="is a loop of symbolic links"):
        user_path(tmp_path / path)


def test_a_name_that_is_too_long(tmp_path):
    with pytest.raises(DataError, match="longer than the file system allows"):
        user_path(tmp_path / ("x" * 300))


def test_a_path_with_a_nul_character():
    with pytest.raises(DataError, match=r"a\\x00b is no path"):
        user_path("a\0b")


def test_what_is_no_regular_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        for path, kind in {"pipe": "pipe", "socket": "socket", "/dev/null": "device"}.items():
            with pytest.raises(DataError, match=f"is a {kind}, not a regular file"):
                check_regular(tmp_path / path)
    check_regular(tmp_path)
    check_regular(__file__)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Côte d'Ivoire 日本 👩‍🚀", "Côte d'Ivoire 日本 👩‍🚀"),
        ("\x1b[31mred\x07", r"\x1b[31mred\x07"),
        ("a\u2028b\x85c\x0bd\x0ce\x1cf\x1eg", r"a\u2028b\x85c\x0bd\x0ce\x1cf\x1eg"),
        ("a\r\nb\tc", r"a\r\nb\tc"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
        ("\ud800", r"\ud800"),
        ("\ufeffa", r"\ufeffa"),
        ("x" * 600, "x" * 500 + "…"),
    ],
)
def test_printable(text, shown):
    assert printable(text) == shown
    shown.encode("utf-8")
