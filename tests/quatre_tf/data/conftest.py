import numpy as np
import pytest

from quatre_tf.data.graph import Graph


@pytest.fixture
def synthetic_graph():
    """A graph of 60 entities whose relations differ in the number of heads and of tails."""
    random = np.random.default_rng(7)
    columns = [
        (random.integers(0, heads, 150), np.full(150, relation), random.integers(0, tails, 150))
        for relation, (heads, tails) in enumerate([(60, 60), (60, 4), (4, 60), (12, 30)])
    ]
    ids = np.unique(np.concatenate([np.stack(column, axis=1) for column in columns]), axis=0)
    random.shuffle(ids)
    names = [[f"{name:03d}" for name in column] for column in ids.T]
    parts = {"train": slice(0, -40), "valid": slice(-40, -20), "test": slice(-20, None)}
    splits = {split: [column[part] for column in names] for split, part in parts.items()}
    return Graph.from_names("synthetic", splits)
