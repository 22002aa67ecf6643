import dataclasses
import gzip
import hashlib
import io
import tarfile

import pytest

from datasets import benchmarks

TINY_SPLITS = {
    "train": b"a\tlikes\tb\nb\tlikes\tc\nc\tknows\ta\n",
    "valid": b"a\tknows\tb\n",
    "test": b"c\tlikes\ta\nb\tknows\tc\n",
}


def pack(files):
    """Returns the bytes of a .tar.gz with the given files."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return gzip.compress(packed.getvalue(), mtime=0)


TINY_ARCHIVE = pack({f"{split}.txt": content for split, content in TINY_SPLITS.items()})


@pytest.fixture
def tiny_benchmark():
    """A benchmark of six triples, known by its checksums like the real ones."""
    files = {
        split: benchmarks.SplitFile(content.count(b"\n"), hashlib.sha256(content).hexdigest())
        for split, content in TINY_SPLITS.items()
    }
    return dataclasses.replace(
        benchmarks.UMLS,
        title="Tiny",
        url="http://127.0.0.1:9/tiny.tar.gz",
        archive_sha256=hashlib.sha256(TINY_ARCHIVE).hexdigest(),
        **files,
    )


@pytest.fixture
def folder(tmp_path):
    """A folder of one's own with the three splits."""
    path = tmp_path / "mine"
    path.mkdir()
    for split, content in TINY_SPLITS.items():
        (path / f"{split}.txt").write_bytes(content)
    return path
