import gc

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from saved_models.tables import LineTable, NameTable

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
    assert decoded(table.lines(tf.range(len(names)))) == names


@pytest.mark.parametrize("name", ["", "Plain", "plain ", "%2525 ", "crname", "x" * 1_000_000])
def test_unknown_names(name):
    assert NameTable(NAMES, "names.txt").ids(tf.constant([name])).numpy() == [-1]


def test_lines_repeat_and_may_be_empty():
    """The id of nothing, -1, has an empty one."""
    table = LineTable(["same", "", "same", "x"], "lines.txt")
    lines = table.lines(tf.constant([[3, 0, 1], [2, -1, 0]])).numpy()
    assert lines.tolist() == [[b"x", b"same", b""], [b"same", b"", b"same"]]


def test_tables_free_what_they_hold(allocated):
    """Of TensorFlow's own class each keeps its entries, and 36 kB for its name."""
    NameTable(NAMES, "names.txt")
    before = allocated()
    for _ in range(30):
        NameTable([f"{n}" for n in range(1000)], "names.txt")
    assert allocated() - before < 30 * 0.02


class Naming(tf.Module):
    """A model that is nothing but its names."""

    def __init__(self):
        super().__init__()
        self.table = NameTable(NAMES, "names.txt")

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def ids(self, names):
        return self.table.ids(names)


def test_a_function_keeps_the_names_of_the_model_it_was_taken_from(tmp_path):
    tf.saved_model.save(Naming(), str(tmp_path))
    ids = tf.saved_model.load(str(tmp_path)).ids.get_concrete_function()
    gc.collect()
    np.testing.assert_array_equal(ids(tf.constant(NAMES)), range(len(NAMES)))


def test_a_model_that_was_loaded_twice_outlives_one_of_the_two(tmp_path):
    tf.saved_model.save(Naming(), str(tmp_path))
    first, second = (tf.saved_model.load(str(tmp_path)) for _ in range(2))
    first.ids(tf.constant(NAMES))
    del first
    gc.collect()
    np.testing.assert_array_equal(second.ids(tf.constant(NAMES)), range(len(NAMES)))
