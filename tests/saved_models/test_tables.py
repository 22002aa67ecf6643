import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from datasets.known_triples import KnownTriples
from saved_models.tables import KnownTable, NameTable

PLAIN = ["plain", " padded ", "日本", "e\u0301", "\u00e9", "\ufeffbom", "x\u2028y", '"', "\\n"]
CONTROLS = ["tab\tname", "cr\rname", "lf\nname", "\r", "nul\0name"]
ESCAPES = ["%", "%%", "%25", "%0D", "%250D", "%2525"]
NAMES = [*PLAIN, *CONTROLS, *ESCAPES]


def decoded(tensor):
    return [name.decode() for name in tensor.numpy()]


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1), unique=True, min_size=1))
@settings(max_examples=20, deadline=None)
def test_any_name_goes_there_and_back(names):
    table = NameTable(names, "names.txt")
    np.testing.assert_array_equal(table.ids(tf.constant(names)), range(len(names)))
    assert decoded(table.names(tf.range(len(names)))) == names


def test_unusual_names():
    table = NameTable(NAMES, "names.txt")
    np.testing.assert_array_equal(table.ids(tf.constant(NAMES)), range(len(NAMES)))
    assert decoded(table.names(tf.range(len(NAMES)))) == NAMES


@pytest.mark.parametrize("name", ["", "Plain", "plain ", "%2525 ", "crname", "x" * 1_000_000])
def test_unknown_names(name):
    assert NameTable(NAMES, "names.txt").ids(tf.constant([name])).numpy() == [-1]


def test_bytes_that_are_no_text_are_unknown():
    assert NameTable(NAMES, "names.txt").ids(tf.constant([b"\xff\xfe\0%"])).numpy() == [-1]


def test_the_id_of_nothing_has_no_name():
    ids = tf.constant([[-1, 0], [1, -1]])
    assert NameTable(["a", "b"], "names.txt").names(ids).numpy().tolist() == [
        [b"", b"a"],
        [b"b", b""],
    ]


def test_known_entities():
    # With 10 entities: (relation 0, entity 3) -> 1, 7; (relation 2, entity 0) -> 4.
    known = KnownTriples(np.array([3, 20]), np.array([0, 2, 3]), np.array([1, 7, 4], np.int32))
    table = KnownTable(known, 10, "known")
    relations, entities = tf.constant([2, 0, 0], tf.int64), tf.constant([0, 3, 4], tf.int64)
    assert table.lookup(relations, entities).to_list() == [[4], [1, 7], []]
