import dataclasses
import gzip
import http.server
import io
import socket
import tarfile
import threading
import urllib.request

import pytest

from datasets.published import archives
from datasets.published.benchmarks import SplitFile
from quatre_tf.errors import DataError
from tests.datasets.tiny_archive import TINY_ARCHIVE, TINY_NEGATIVES, TINY_SPLITS, pack


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")


def test_splits_are_known_by_content_whatever_they_are_called(tiny_benchmark):
    names = {"train": "x/../../b-train", "valid": "/etc/passwd", "test": "x/README"}
    files = {names[split]: content for split, content in TINY_SPLITS.items()}
    archive = pack({"notes.txt": b"not a split", **files})

    assert archives.extract_splits(tiny_benchmark, archive, "here") == TINY_SPLITS


def test_without_checksums_names_and_numbers_of_lines_decide(tiny_benchmark, server):
    lines = {"train": 3, "valid": 1, "test": 2}
    splits = {name: SplitFile(number) for name, number in lines.items()}
    unverified = dataclasses.replace(tiny_benchmark, url=f"{server}/splits/", **splits)
    assert archives.extract_splits(unverified, TINY_ARCHIVE, "here") == TINY_SPLITS
    assert archives.read_splits(unverified, None) == TINY_SPLITS
    longer = dataclasses.replace(unverified, test=SplitFile(3))
    with pytest.raises(DataError, match=r"without the right test \(it holds train\.txt"):
        archives.extract_splits(longer, TINY_ARCHIVE, "here")
    with pytest.raises(DataError, match=r"expected the test split of tiny, 3 lines\. Rec"):
        archives.read_splits(longer, None)


def test_links_and_sparse_members_are_not_followed(tiny_benchmark):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, kind in (("link", tarfile.SYMTYPE), ("hard", tarfile.LNKTYPE)):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "/etc/passwd"
            tar.addfile(member)
    with pytest.raises(
        DataError, match=r"without the right train and valid and test \(it holds no"
    ):
        archives.extract_splits(tiny_benchmark, gzip.compress(packed.getvalue()), "here")


def test_the_number_of_members_is_bounded(tiny_benchmark):
    member = tarfile.TarInfo("empty").tobuf()
    with pytest.raises(DataError, match="more than 1,000 members"):
        archives.extract_splits(tiny_benchmark, gzip.compress(member * 1001), "here")
    with pytest.raises(DataError, match="it holds empty"):
        archives.extract_splits(tiny_benchmark, gzip.compress(member * 1000), "here")


def test_a_header_that_points_backwards_ends(tiny_benchmark):
    header = bytearray(tarfile.TarInfo("back").tobuf(tarfile.GNU_FORMAT))
    header[124:136] = tarfile.itn(-512, 12, tarfile.GNU_FORMAT)
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    with pytest.raises(DataError, match="expected the archive of tiny"):
        archives.extract_splits(tiny_benchmark, gzip.compress(bytes(header) * 3), "here")


def test_unpacked_size_is_bounded(tiny_benchmark, monkeypatch):
    monkeypatch.setattr(archives, "_MAX_BYTES", 100_000)
    with pytest.raises(DataError, match="more than 100,000 bytes unpacked"):
        archives.extract_splits(tiny_benchmark, pack({"zeros": bytes(10**6)}), "here")


def pax_archive(record):
    """An archive with a name that is not ASCII, whose record in the header is replaced."""
    original = b"30 path=training_split_\xc3\xa9.txt\n"
    header = tarfile.TarInfo("training_split_é.txt").tobuf(tarfile.PAX_FORMAT)
    assert original in header
    return gzip.compress(header.replace(original, record.ljust(len(original), b"x")))


@pytest.mark.parametrize(
    ("archive", "message"),
    [
        # Python raises another error for each.
        (pax_archive(b"24 GNU.sparse.size=abcd\n"), "not a whole .tar.gz archive .invalid literal"),
        (pax_archive(b"9" * 19 + b" a=b\n"), "not a whole .tar.gz archive .*too large"),
        (b"no archive", "not a whole .tar.gz archive .*gzipped"),
        (TINY_ARCHIVE[:10] + b"\xff" * 20, "not a whole .tar.gz archive .*decompressing"),
        (TINY_ARCHIVE[:-30], "not a whole .tar.gz archive .*ended"),
        (gzip.compress(b"no tar at all" * 100), "not a whole .tar.gz archive"),
        (pack({"test.txt": b"", "a": TINY_SPLITS["train"]}), "right valid and test .it holds"),
        (pack({"train.txt": b"x\ty\tz\n"}), "right train and valid and test .it holds train.txt"),
    ],
    # Bytes would be the names: those of a fresh .gz differ with the second, and between workers.
    ids=range(8),
)
def test_wrong_archive_tells_both_checksums(tiny_benchmark, tmp_path, archive, message):
    (tmp_path / "Tiny.tar.gz").write_bytes(archive)
    with pytest.raises(DataError, match=message) as error:
        archives.read_splits(tiny_benchmark, tmp_path)
    assert str(error.value).startswith(f"{tmp_path / 'Tiny.tar.gz'}: expected the archive of tiny")
    assert f"(sha256 {tiny_benchmark.archive_sha256})" in str(error.value)
    assert f"sha256 {archives.hashlib.sha256(archive).hexdigest()}" in str(error.value)


@pytest.mark.parametrize("host", ["127.0.0.1:{}", "no-such-host.invalid"])
def test_without_network_one_clear_message(tiny_benchmark, tmp_path, monkeypatch, host):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://{host.format(closed.getsockname()[1])}/tiny.tar.gz"
    opened, urlopen = [], urllib.request.urlopen

    def counted(url, **options):
        opened.append(url)
        return urlopen(url, **options)

    monkeypatch.setattr(urllib.request, "urlopen", counted)
    with pytest.raises(DataError) as error:
        archives.read_splits(dataclasses.replace(tiny_benchmark, url=url), tmp_path)
    # Repeated attempts, as TFDS makes them, keep people waiting for minutes.
    assert opened == [url]
    message = str(error.value)
    assert "\n" not in message
    for part in (url, tiny_benchmark.archive_sha256, f"not in {tmp_path}", "--manual_dir"):
        assert part in message


def test_a_server_that_never_answers(tiny_benchmark, monkeypatch):
    monkeypatch.setattr(archives, "_OPEN_SECONDS", 0.3)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/tiny.tar.gz"
        with pytest.raises(DataError, match="no answer within") as error:
            archives.read_splits(dataclasses.replace(tiny_benchmark, url=url), None)
    assert "no folder of archives was named" in str(error.value)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        texts = TINY_SPLITS | TINY_NEGATIVES
        files = {f"/splits/{name}.txt": content for name, content in texts.items()}
        content = {"/tiny.tar.gz": TINY_ARCHIVE, "/other/train.txt": b"a\tb\tc\n", **files}
        self.send_response(200 if self.path in content else 404)
        self.end_headers()
        self.wfile.write(content.get(self.path, b"nothing here"))

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


def test_archives_and_splits_that_are_published(tiny_benchmark, labelled_benchmark, server):
    for place in ("splits/", "tiny.tar.gz"):
        published = dataclasses.replace(tiny_benchmark, url=f"{server}/{place}")
        assert archives.read_splits(published, None) == TINY_SPLITS
    labelled = dataclasses.replace(labelled_benchmark, url=f"{server}/splits/")
    assert archives.read_splits(labelled, None) == TINY_SPLITS | TINY_NEGATIVES
    other = dataclasses.replace(tiny_benchmark, url=f"{server}/other/")
    with pytest.raises(DataError, match=r"/other/train.txt: expected the train split of tiny, sha"):
        archives.read_splits(other, None)
    missing = dataclasses.replace(tiny_benchmark, url=f"{server}/nowhere/")
    with pytest.raises(DataError, match=r"/nowhere/ cannot be .* put its splits in a \.tar\.gz"):
        archives.read_splits(missing, None)
