import os
import signal
import stat

import pytest

from quatre_tf.errors import DataError
from saved_models.versions import publish_version
from tests.commands import FORKED


def write_file(folder):
    (folder / "file").write_text("content")


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_versions_count_up(tmp_path):
    base = tmp_path / "missing" / "model"
    assert publish_version(base, write_file) == base / "1"
    assert publish_version(base, write_file) == base / "2"
    assert publish_version(base, write_file, version=7) == base / "7"
    (base / "notes").mkdir()
    (base / "99.old").mkdir()
    assert publish_version(base, write_file) == base / "8"
    assert (base / "8" / "file").read_text() == "content"


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_failure_leaves_nothing(tmp_path, error):
    def write(folder):
        write_file(folder)
        raise error

    with pytest.raises(error):
        publish_version(tmp_path, write)
    assert names_in(tmp_path) == []


def test_what_a_killed_export_left_goes_with_the_next(tmp_path):
    """One that is being written stays, and so does what is not of ours."""
    killed = FORKED.Process(target=publish_version, args=(tmp_path, kill_this_process))
    killed.start()
    killed.join()
    assert killed.exitcode == -signal.SIGKILL
    assert len(names_in(tmp_path)) == 1
    (tmp_path / ".partial-mine").mkdir()

    def write(folder):
        write_file(folder)
        assert not any(name.isdecimal() for name in names_in(tmp_path))
        # Another export is quicker.
        publish_version(tmp_path, write_file)
        assert len(names_in(tmp_path)) == 3
        assert (folder / "file").exists()

    assert publish_version(tmp_path, write) == tmp_path / "2"
    assert names_in(tmp_path) == [".partial-mine", "1", "2"]


def kill_this_process(folder):
    write_file(folder)
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_full_disk_is_one_clear_line(tmp_path):
    def write(folder):
        raise OSError(28, "No space left on device")

    with pytest.raises(DataError, match=f"Cannot write a model to {tmp_path}: .*No space left"):
        publish_version(tmp_path, write)


def test_versions_are_64_bit_integers(tmp_path):
    with pytest.raises(ValueError, match="`version` must be in 1"):
        publish_version(tmp_path, write_file, version=2**63)
    publish_version(tmp_path, write_file, version=2**63 - 1)
    with pytest.raises(DataError, match="the last one"):
        publish_version(tmp_path, write_file)


def test_a_version_is_never_replaced(tmp_path):
    publish_version(tmp_path, write_file, version=3)
    with pytest.raises(DataError, match=r"Version 3 is already in .* next free one is 4"):
        publish_version(tmp_path, write_file, version=3)
    assert names_in(tmp_path) == ["3"]


def test_servers_of_other_users_can_read(tmp_path):
    (tmp_path / "probe").mkdir()
    expected = stat.S_IMODE((tmp_path / "probe").stat().st_mode)
    assert stat.S_IMODE(publish_version(tmp_path, write_file).stat().st_mode) == expected
