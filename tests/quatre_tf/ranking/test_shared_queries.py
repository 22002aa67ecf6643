import collections

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from quatre_tf.ranking.tile_runner import share_queries


@given(st.lists(st.integers(0, 9), max_size=60), st.integers(1, 5))
def test_every_triple_is_asked_once_by_its_query(keys, batch_size):
    keys = np.array(keys, np.int64)
    asked_by = collections.Counter()
    columns, sizes = [], []
    for tile in share_queries(keys, batch_size):
        assert 1 <= tile.shape[1] <= batch_size
        for asked in tile.T:
            triples = asked[asked >= 0]
            assert (asked[: len(triples)] == triples).all()
            assert (keys[triples] == keys[asked[0]]).all()
            asked_by.update(triples.tolist())
            columns.append(keys[asked[0]])
            sizes.append(len(triples))
    assert asked_by == dict.fromkeys(range(len(keys)), 1)
    # No more columns than are needed, four triples each, and those of more triples first.
    expected = {key: -(-count // 4) for key, count in collections.Counter(keys.tolist()).items()}
    assert collections.Counter(columns) == expected
    assert sizes == sorted(sizes, reverse=True)


def test_neighbours_among_queries_of_as_many_triples_are_alike():
    (tile,) = share_queries(np.array([7, 1, 5, 3, 1]), 10)
    np.testing.assert_array_equal(tile, [[1, 3, 2, 0], [4, -1, -1, -1]])
