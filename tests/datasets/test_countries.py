"""The split files of `countries` are frozen: results on them stay comparable."""

import hashlib

import pytest

from datasets.countries import DIRECTORY

SHA256 = {
    "train": "2b3fcc9bdedcf75d3726e4d871ba4cba8772833ceb52ae532ca2eeca25aadc4c",
    "valid": "5dd0900503e0579ea6de1c6200c48548458afee7f9f6eac3d35d6d9309b5bdf8",
    "test": "1ffe0857824dc686cc04fdf6c63df6a89df1b0750b6e609fd29b90fa54165158",
}


@pytest.mark.parametrize("split", SHA256)
def test_files_are_frozen(split):
    """Git must not change their line ends either."""
    assert hashlib.sha256((DIRECTORY / f"{split}.txt").read_bytes()).hexdigest() == SHA256[split]
