import numpy as np
import pytest
import tensorflow as tf

from quatre_tf.sparse_rows import (
    add_in_place,
    combine_rows,
    equal_ends,
    map_parts,
    put_in_place,
    sum_duplicates,
)


def test_combine_rows_agrees_with_numpy(rng):
    rows = rng.normal(size=(40, 33))
    row_ids, segments = rng.integers(0, 40, 500), rng.integers(0, 17, 500)
    weights = rng.normal(size=500)
    expected = np.zeros((17, 33))
    np.add.at(expected, segments, weights[:, np.newaxis] * rows[row_ids])
    combined = combine_rows(
        tf.constant(rows), tf.constant(row_ids), tf.constant(weights), tf.constant(segments), 17
    )
    np.testing.assert_allclose(combined, expected, rtol=1e-9, atol=1e-12)


def test_sum_duplicates_keeps_first_occurrence_order():
    slices = tf.IndexedSlices(
        tf.constant([[1.0], [2.0], [4.0], [8.0]]), tf.constant([9, 3, 9, 0]), tf.constant([12, 1])
    )
    summed = sum_duplicates(slices)
    np.testing.assert_array_equal(summed.indices, [9, 3, 0])
    np.testing.assert_array_equal(summed.values, [[5.0], [2.0], [8.0]])


def test_sum_duplicates_of_none():
    slices = tf.IndexedSlices(tf.zeros([0, 3]), tf.zeros([0], tf.int32), tf.constant([5, 3]))
    assert sum_duplicates(slices).values.shape == (0, 3)


@pytest.mark.parametrize(
    ("count", "ends"), [(0, []), (3, [3]), (4, [4]), (8, [4, 8]), (9, [4, 8, 9])]
)
def test_equal_ends(count, ends):
    np.testing.assert_array_equal(equal_ends(tf.constant(count), 4), ends)


@pytest.mark.parametrize("ends", [[3], [1, 3], [1, 1, 3]])
def test_map_parts_concatenates_results_and_hands_on_the_state(ends):
    rows = tf.constant([[1.0, 2], [3, 4], [5, 6]])

    def double(part, total):
        return 2 * rows[part], total + tf.reduce_sum(rows[part])

    for function in (map_parts, tf.function(map_parts)):
        doubled, total = function(double, tf.constant(ends), tf.float32, tf.constant(0.5))
        np.testing.assert_array_equal(doubled, 2 * rows)
        assert float(total) == 21.5


def test_map_parts_of_nothing():
    @tf.function
    def run(ends):
        return map_parts(lambda part: (tf.ones([2, 2])[part],), ends, tf.float32, width=2)

    assert run(tf.zeros([0], tf.int32))[0].shape == (0, 2)


@tf.function(jit_compile=True)
def compiled_zeros(like):
    return tf.zeros_like(like)


@pytest.mark.parametrize("known_size", [True, False], ids=["in place", "size unknown"])
def test_put_in_place(known_size):
    @tf.function(input_signature=[tf.TensorSpec([2, 3] if known_size else [None, 3])])
    def put(matrix):
        return put_in_place(
            compiled_zeros(matrix), tf.constant([[1, 0], [0, 2]]), tf.constant([5.0, 7.0])
        )

    given = tf.ones([2, 3])
    np.testing.assert_array_equal(put(given), [[0, 0, 7], [5, 0, 0]])
    np.testing.assert_array_equal(given, np.ones([2, 3]))


def test_add_in_place_adds_up_equal_ids():
    @tf.function
    def add(table):
        ids, rows = tf.constant([2, 0, 2]), tf.constant([[1.0, 2], [3, 4], [5, 6]])
        return add_in_place(compiled_zeros(table), ids, rows)

    np.testing.assert_array_equal(add(tf.ones([3, 2])), [[3, 4], [0, 0], [6, 8]])
