import dataclasses
import hashlib

import pytest

from datasets.published import benchmarks
from tests.datasets.tiny_archive import TINY_ARCHIVE, TINY_NEGATIVES, TINY_SPLITS


def split_files(texts):
    return {
        name: benchmarks.SplitFile(content.count(b"\n"), hashlib.sha256(content).hexdigest())
        for name, content in texts.items()
    }


@pytest.fixture
def tiny_benchmark():
    """A benchmark of six triples, known by its checksums like the real ones."""
    return dataclasses.replace(
        benchmarks.UMLS,
        title="Tiny",
        url="http://127.0.0.1:9/tiny.tar.gz",
        archive_sha256=hashlib.sha256(TINY_ARCHIVE).hexdigest(),
        **split_files(TINY_SPLITS),
    )


@pytest.fixture
def labelled_benchmark(tiny_benchmark):
    """The same with labelled negatives."""
    return dataclasses.replace(tiny_benchmark, **split_files(TINY_NEGATIVES))


@pytest.fixture
def folder(tmp_path):
    """A folder of one's own with the three splits."""
    path = tmp_path / "mine"
    path.mkdir()
    for split, content in TINY_SPLITS.items():
        (path / f"{split}.txt").write_bytes(content)
    return path
