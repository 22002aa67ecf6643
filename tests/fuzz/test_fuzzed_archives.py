"""Archives of benchmarks, damaged: refused, or read as they were published."""

import dataclasses
import gzip
import hashlib
import io
import tarfile

from hypothesis import example, given
from hypothesis import strategies as st

from datasets.published.archives import extract_splits
from datasets.published.benchmarks import UMLS, SplitFile
from tests.fuzz.fuzzing import attempt, fuzz, mutated

SPLITS = {"train": b"a\tr\tb\n", "valid": b"b\tr\ta\n", "test": b"c\tr\ta\n"}
BENCHMARK = dataclasses.replace(
    UMLS, **{name: SplitFile(1, hashlib.sha256(text).hexdigest()) for name, text in SPLITS.items()}
)


def packed(tar_format):
    """A tar of the splits; with PAX headers where the format has them."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tar_format) as tar:
        for name, content in SPLITS.items():
            member = tarfile.TarInfo(f"{name}é.txt")
            member.size, member.pax_headers = len(content), {"comment": "x"}
            tar.addfile(member, io.BytesIO(content))
    return file.getvalue()[: 512 * (12 if tar_format == tarfile.PAX_FORMAT else 8)]


TARS = [packed(tar_format) for tar_format in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT)]
compressed = mutated(st.sampled_from(TARS)).map(gzip.compress)


@fuzz()
@given(archive=compressed | mutated(st.sampled_from(TARS).map(gzip.compress)))
@example(archive=gzip.compress(TARS[0].replace(b"15 comment=x", b"15 size=abcde")))
@example(archive=gzip.compress(TARS[0].replace(b"13 comment=x\n20 path=tra", b"9" * 19 + b" a=xx")))
def test_archives(archive):
    splits, refusal = attempt(extract_splits, BENCHMARK, archive, "here")
    if refusal:
        assert refusal.startswith("here: expected the archive of umls")
    else:
        assert splits == SPLITS
