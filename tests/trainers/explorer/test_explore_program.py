"""The program that serves the page, and the files it serves."""

import pathlib
import re
import signal
import socket
import urllib.request

import pytest

from quatre_tf import Run
from quatre_tf.errors import ConfigError
from tests import commands
from tests.quatre_tf.ranking.small_graph import small_graph, small_model
from trainers.explorer import server
from trainers.training.config import TrainConfig

ROOT = pathlib.Path(__file__).parents[3]
STATIC = ROOT / "trainers" / "explorer" / "static"


@pytest.fixture
def run_dir(tmp_path):
    Run(small_model(), small_graph(), tmp_path).save()
    (tmp_path / "config.json").write_text(TrainConfig(dataset="small").to_json())
    return tmp_path


def test_page_makes_no_html_of_text_and_asks_nobody_else():
    for path in STATIC.iterdir():
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text)
        addresses = set(re.findall(r"https?://[^\s\"')]+", text))
        # The name of a language, not an address that is opened.
        assert addresses <= {"http://www.w3.org/2000/svg"}, path


def test_port_in_use():
    with server.listen(0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=rf"port {port} of 127.0.0.1: Address already in use"):
            server.listen(port)


def test_only_this_computer_is_answered():
    with server.listen(0) as listening:
        host, port = listening.getsockname()
        assert host == "127.0.0.1"
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
        # Another address of the same computer, as its network card has.
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", port), timeout=5)


def test_program_says_where_and_ends_with_ctrl_c(run_dir):
    process = commands.start("-m", "trainers.explore", f"--run_dir={run_dir}", "--port=0")
    line = process.stdout.readline()
    address = re.fullmatch(rf"{run_dir} is at (http://127\.0\.0\.1:\d+/) until Ctrl-C\.\n", line)[1]
    with urllib.request.urlopen(f"{address}api/search?text=f") as response:
        assert b'"name": "f"' in response.read()
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=30) == ("", "")
    assert process.returncode == 130
