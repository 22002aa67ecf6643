"""The split files of `countries` are frozen: results on them stay comparable."""

import collections
import hashlib

import pytest

from datasets import catalog
from datasets.countries import DIRECTORY

SHA256 = {
    "train": "2b3fcc9bdedcf75d3726e4d871ba4cba8772833ceb52ae532ca2eeca25aadc4c",
    "valid": "5dd0900503e0579ea6de1c6200c48548458afee7f9f6eac3d35d6d9309b5bdf8",
    "test": "1ffe0857824dc686cc04fdf6c63df6a89df1b0750b6e609fd29b90fa54165158",
}
COUNTS = {
    "train": {
        "borders": 524,
        "currency": 180,
        "has_capital": 197,
        "located_in": 454,
        "official_language": 253,
    },
    "valid": {"borders": 55, "currency": 10, "located_in": 79, "official_language": 24},
    "test": {"borders": 55, "currency": 12, "located_in": 80, "official_language": 25},
}


@pytest.mark.parametrize("split", SHA256)
def test_files_are_frozen(split):
    """Git must not change their line ends either."""
    assert hashlib.sha256((DIRECTORY / f"{split}.txt").read_bytes()).hexdigest() == SHA256[split]


def test_counts():
    graph = catalog.load("countries")
    relations = graph.relations.names
    for split, expected in COUNTS.items():
        assert collections.Counter(relations[graph.split(split)[:, 1]].tolist()) == expected
    assert (graph.num_entities, graph.num_relations) == (685, 5)
