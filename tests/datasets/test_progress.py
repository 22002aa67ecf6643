import contextlib
import io

import pytest

from datasets import progress as module
from datasets.progress import progress, status


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(screen, items, **options):
    """What the screen holds after all items were taken."""
    with contextlib.redirect_stderr(screen):
        taken = list(progress(items, "Ranking heads", **options))
    assert taken == ["a", "b"]
    return screen.getvalue()


@pytest.fixture
def no_delay(monkeypatch):
    monkeypatch.setattr(module, "_DELAY_SECONDS", 0)


@pytest.mark.usefixtures("no_delay")
def test_bar_on_a_terminal():
    text = shown(Terminal(), ["a", "b"])
    assert "Ranking heads    0%|" in text
    # It is gone at the end: the cursor is back at the start of an empty line.
    assert text.rsplit("\r", 2)[1].strip() == ""


def test_status_on_a_terminal_leaves_nothing():
    screen = Terminal()
    with contextlib.redirect_stderr(screen), status("Splitting"):
        assert screen.getvalue() == "Splitting ..."
    assert screen.getvalue() == "Splitting ...\r             \r"


@pytest.mark.usefixtures("no_delay")
def test_logs_stay_quiet():
    log = io.StringIO()
    assert shown(log, ["a", "b"]) == ""
    with contextlib.redirect_stderr(log), status("Splitting"):
        pass
    assert log.getvalue() == ""
