"""Archives of benchmarks: finding or downloading them, and extracting the verified splits.

Nothing is ever unpacked to disk: the members are read in memory, so their names and links can do
no harm, and both the archive and its contents have a size limit.
"""

import gzip
import hashlib
import http.client
import io
import itertools
import pathlib
import queue
import tarfile
import threading
import urllib.request
import zlib
from typing import IO, cast

from datasets.published.benchmarks import Benchmark
from quatre_tf.errors import DataError

# The largest benchmark, yago3-10, unpacks to less than 100 MB.
_MAX_BYTES = 512 * 2**20
# Until the server answers. The timeouts of resolvers and connections add up to minutes where
# packets are dropped.
_OPEN_SECONDS = 5.0
_STALL_SECONDS = 20.0
# The archive of a benchmark has at most a dozen.
_MAX_MEMBERS = 1000
_SHOWN_MEMBERS = 5


def find_archive(benchmark: Benchmark, manual_dir: pathlib.Path | None) -> pathlib.Path | None:
    """Returns the archive of a benchmark in the folder of local archives, if it is there."""
    if manual_dir is None:
        return None
    candidates = (manual_dir / name for name in benchmark.archive_names)
    return next((path for path in candidates if path.is_file()), None)


def read_splits(benchmark: Benchmark, manual_dir: pathlib.Path | None) -> dict[str, bytes]:
    """Returns the texts of `Benchmark.splits`, verified.

    A local archive is preferred to the published one.

    Raises:
        DataError: There is no local archive and the download fails (after 5 s without an answer),
            or the archive does not hold the splits of the benchmark.
    """
    path = find_archive(benchmark, manual_dir)
    if path is None:
        return _published_splits(benchmark, manual_dir)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"Cannot read {path}: {error.strerror}.") from error
    return extract_splits(benchmark, data, str(path))


def extract_splits(benchmark: Benchmark, archive: bytes, origin: str) -> dict[str, bytes]:
    """Extracts the splits from an archive.

    Members are identified by content; where no checksum is known, by name and number of lines.

    Args:
        benchmark: Has the checksums of the splits.
        archive: The bytes of a .tar.gz.
        origin: Where it comes from, for messages.
    """
    try:
        members = _members(archive)
    # The last two: a header field that should be a number and is none, or too large a one.
    except (OSError, EOFError, zlib.error, tarfile.TarError, ValueError, OverflowError) as error:
        problem = f"not a whole .tar.gz archive ({error})"
        raise _wrong_archive(benchmark, archive, origin, problem) from error
    splits = {
        split: content
        for split, file in benchmark.splits.items()
        for name, content in members.items()
        if (file.sha256 or pathlib.PurePath(name).stem == split) and file.is_content(content)
    }
    missing = [name for name in benchmark.splits if name not in splits]
    if missing:
        held = ", ".join(list(members)[:_SHOWN_MEMBERS]) or "no files"
        problem = f"an archive without the right {' and '.join(missing)} (it holds {held})"
        raise _wrong_archive(benchmark, archive, origin, problem)
    return splits


def _members(archive: bytes) -> dict[str, bytes]:
    """Reads the regular files of a .tar.gz into memory: bounded in size and in number."""
    with gzip.open(io.BytesIO(archive)) as unpacked:
        tar_bytes = unpacked.read(_MAX_BYTES + 1)
    if len(tar_bytes) > _MAX_BYTES:
        raise tarfile.TarError(f"more than {_MAX_BYTES:,} bytes unpacked")
    with tarfile.open(fileobj=io.BytesIO(tar_bytes), mode="r:") as tar:
        # Not the whole list: a million empty members are a gigabyte of objects and a minute.
        members = list(itertools.islice(tar, _MAX_MEMBERS + 1))
        if len(members) > _MAX_MEMBERS:
            raise tarfile.TarError(f"more than {_MAX_MEMBERS:,} members")
        # A sparse file may be larger than the archive that holds it.
        files = [member for member in members if member.isreg() and not member.issparse()]
        # None is what the method returns for others than regular files.
        return {file.name: cast("IO[bytes]", tar.extractfile(file)).read() for file in files}


def _published_splits(benchmark: Benchmark, manual_dir: pathlib.Path | None) -> dict[str, bytes]:
    if benchmark.is_archive:
        data = _download(benchmark, manual_dir, benchmark.url)
        return extract_splits(benchmark, data, benchmark.url)
    texts = {}
    for name, file in benchmark.splits.items():
        url = f"{benchmark.url}{name}.txt"
        texts[name] = _download(benchmark, manual_dir, url)
        if not file.is_content(texts[name]):
            raise DataError(
                f"{url}: expected the {name} split of {benchmark.name}, {file}. Received sha256 "
                f"{hashlib.sha256(texts[name]).hexdigest()}. Try again, or fetch it from "
                f"{benchmark.homepage}."
            )
    return texts


def _download(benchmark: Benchmark, manual_dir: pathlib.Path | None, url: str) -> bytes:
    try:
        with _open(url) as response:
            data = response.read(_MAX_BYTES + 1)
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise DataError(_help(benchmark, manual_dir, reason)) from error
    return data


def _open(url: str) -> http.client.HTTPResponse:
    """Opens a URL in another thread, which is abandoned when the server does not answer."""
    answer: queue.SimpleQueue = queue.SimpleQueue()

    def work() -> None:
        try:
            answer.put(urllib.request.urlopen(url, timeout=_STALL_SECONDS))
        except Exception as error:
            answer.put(error)

    threading.Thread(target=work, daemon=True).start()
    try:
        response = answer.get(timeout=_OPEN_SECONDS)
    except queue.Empty:
        raise TimeoutError(f"no answer within {_OPEN_SECONDS:.0f} s") from None
    if isinstance(response, Exception):
        raise response
    return response


def _help(benchmark: Benchmark, manual_dir: pathlib.Path | None, reason: object) -> str:
    place = "it" if benchmark.is_archive else "its splits in a .tar.gz"
    searched = f"not in {manual_dir}" if manual_dir else "no folder of archives was named"
    return (
        f"No archive of {benchmark.name} at hand ({searched}), and {benchmark.url} cannot be"
        f" fetched: {reason}. Download it on another machine ({_checksums(benchmark)}), put {place}"
        f" into a folder as {' or '.join(benchmark.archive_names)}, and pass the folder as"
        " --manual_dir=FOLDER or QUATRE_MANUAL_DIR=FOLDER. Or start with a graph that needs no"
        " download: --dataset=countries."
    )


def _wrong_archive(benchmark: Benchmark, archive: bytes, origin: str, problem: str) -> DataError:
    return DataError(
        f"{origin}: expected the archive of {benchmark.name} ({_checksums(benchmark)}), received"
        f" {problem}, sha256 {hashlib.sha256(archive).hexdigest()}. Fetch {benchmark.url} again, or"
        " remove the file."
    )


def _checksums(benchmark: Benchmark) -> str:
    """Returns the checksum of the archive, or what is known of its splits."""
    if benchmark.archive_sha256:
        return f"sha256 {benchmark.archive_sha256}"
    return ", ".join(f"{name}: {file}" for name, file in benchmark.splits.items())
