"""Gzip files unpacked in memory, with a limit on the unpacked size."""

import gzip
import os
import zlib

from quatre_tf.errors import DataError

# Text compresses to about a tenth, one line repeated forever to a thousandth: a file above this
# ratio is a decompression bomb or repeats itself hundreds of times.
_MAX_RATIO = 200
# Allowed at any ratio.
_FREE_BYTES = 256 * 2**20
_CHUNK_BYTES = 2**20


class Gunzip(gzip.GzipFile):
    """A gzip file for reading whose content is bounded, relative to its size.

    Args:
        path: The file.

    Raises:
        OSError: The file cannot be opened.
    """

    def __init__(self, path: str | os.PathLike):
        super().__init__(path, "rb")
        self._limit = max(_FREE_BYTES, _MAX_RATIO * os.path.getsize(path))
        self._received = 0

    def read(self, size: int | None = -1) -> bytes:
        """Returns the next `size` bytes, or all that are left.

        Raises:
            DataError: It is no gzip file, is damaged, or unpacks to more than the limit.
        """
        if size is None or size < 0:
            return b"".join(iter(lambda: self.read(_CHUNK_BYTES), b""))
        try:
            data = super().read(size)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise DataError(
                f"{self.name}: expected a whole gzip file, received a damaged or truncated one"
                f" ({error}). Copy or compress it again."
            ) from error
        self._received += len(data)
        if self._received > self._limit:
            raise DataError(
                f"{self.name}: expected compressed text, received a file that unpacks to more than"
                f" {_MAX_RATIO} times its size. If that is right, unpack it yourself (gunzip) and"
                " name the unpacked file."
            )
        return data
