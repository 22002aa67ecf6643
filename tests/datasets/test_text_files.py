import gzip

import pytest

from datasets.readers import text_files
from datasets.readers.rdf import read_rdf
from datasets.readers.text_files import Gunzip, read_bytes
from quatre_tf.errors import DataError

FACT = b"<http://a> <http://b> <http://c> .\n"


def test_all_at_once_or_in_parts(tmp_path):
    path = tmp_path / "x.gz"
    text = bytes(range(256)) * 10_000
    # Two members, as `cat a.gz b.gz` makes them.
    path.write_bytes(gzip.compress(text) + gzip.compress(text))
    with Gunzip(path) as file:
        assert file.read() == text + text
    with Gunzip(path) as file:
        assert b"".join(iter(lambda: file.read(77_777), b"")) == text + text


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "_FREE_BYTES", 100_000)
    path = tmp_path / "train.txt.gz"
    path.write_bytes(gzip.compress(b"\n" * 5 * 10**7))
    with pytest.raises(DataError, match=r"train\.txt\.gz: .* more than 200 times its .*gunzip"):
        read_bytes(path)
    with Gunzip(path) as file, pytest.raises(DataError):
        file.read()
    # No more than one block beyond what is allowed.
    assert file._received <= 200 * path.stat().st_size + text_files._CHUNK_BYTES


@pytest.mark.parametrize("damage", [lambda d: d[:-9], lambda d: d[:15], lambda d: b"PK\3\4"])
def test_damage(tmp_path, damage):
    path = tmp_path / "x.nt.gz"
    path.write_bytes(damage(gzip.compress(FACT * 50)))
    with pytest.raises(DataError, match=r"x\.nt\.gz: expected a whole gzip file, .*again\.$"):
        read_rdf(path)
