import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quatre_tf.data.known_triples import index_heads, index_tails
from quatre_tf.errors import DataError

triple_lists = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 5)), max_size=40
)


@settings(deadline=None)
@given(triple_lists)
def test_agrees_with_a_dictionary(triples):
    array = np.array(triples, np.int32).reshape(-1, 3)
    for index_of, given_column, wanted in ((index_tails, 0, 2), (index_heads, 2, 0)):
        expected: dict = {}
        for triple in triples:
            key = triple[1] * 6 + triple[given_column]
            expected.setdefault(key, set()).add(triple[wanted])
        index = index_of(array, 6)
        rows = np.split(index.entities, index.row_splits[1:-1])
        actual = dict(zip(index.keys.tolist(), map(np.ndarray.tolist, rows), strict=False))
        assert actual == {key: sorted(known) for key, known in expected.items()}
        assert index.keys.tolist() == sorted(expected)
        assert index.group_sizes.tolist() == [len(expected[key]) for key in sorted(expected)]
        assert (index.keys.dtype, index.row_splits.dtype) == (np.int64, np.int64)
        assert index.entities.dtype == np.int32


def test_large_ids_do_not_overflow():
    entities, relations = 100_000_000, 100_000
    last = [entities - 1, relations - 1, entities - 1]
    index = index_tails(np.array([last, [0, 0, 5]], np.int32), entities)

    assert index.keys.tolist() == [0, (relations - 1) * entities + entities - 1]
    assert index.entities.tolist() == [5, entities - 1]


def test_too_large_for_64_bits():
    with pytest.raises(DataError, match="do not fit into 64 bits"):
        index_tails(np.array([[0, 2**31 - 1, 0]], np.int64), num_entities=2**33)


@pytest.mark.parametrize("triple", [[4, 0, 0], [0, 0, 4], [-1, 0, 0], [0, -1, 0]])
def test_ids_out_of_range(triple):
    with pytest.raises(DataError, match=r"Expected entity ids in \[0, 4\)"):
        index_heads(np.array([triple], np.int32), num_entities=4)


def test_wrong_shape():
    with pytest.raises(DataError, match=r"Expected triples \[num_triples, 3\], received \[3\]"):
        index_tails(np.array([0, 0, 0]), num_entities=4)
