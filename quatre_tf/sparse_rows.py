"""Weighted sums of rows into segments: the one scatter of the training step.

A sum of rows by segment is a sparse matrix times a dense one. TensorFlow's CSR kernel runs it on
all cores and reads each source row where it lies; `tf.math.unsorted_segment_sum` is
single-threaded and needs every term written out first.
"""

from collections.abc import Callable
from typing import Any

import tensorflow as tf


def combine_rows(
    rows: tf.Tensor,
    row_ids: tf.Tensor,
    weights: tf.Tensor,
    segment_ids: tf.Tensor,
    num_segments: tf.Tensor,
) -> tf.Tensor:
    """Returns `[num_segments, width]`: segment s is the sum of `weights[k] * rows[row_ids[k]]`.

    The terms of a segment are added in the order of k, so the result does not depend on threads.

    Args:
        rows: `[num_rows, width]` source rows.
        row_ids: `[num_terms]` int32, the source row of each term.
        weights: `[num_terms]`, in the dtype of `rows`.
        segment_ids: `[num_terms]` int32 in `[0, num_segments)`, in any order.
        num_segments: Scalar int32.
    """
    order = tf.argsort(segment_ids, stable=True)
    indices = tf.stack([tf.gather(segment_ids, order), tf.gather(row_ids, order)], axis=1)
    matrix = tf.raw_ops.SparseTensorToCSRSparseMatrix(
        indices=tf.cast(indices, tf.int64),
        values=tf.gather(weights, order),
        dense_shape=tf.cast(tf.stack([num_segments, tf.shape(rows)[0]]), tf.int64),
    )
    combined = tf.raw_ops.SparseMatrixMatMul(a=matrix, b=rows)
    return tf.ensure_shape(combined, [None, rows.shape[-1]])


def sum_rows(rows: tf.Tensor, segment_ids: tf.Tensor, num_segments: tf.Tensor) -> tf.Tensor:
    """Returns `[num_segments, width]`: `combine_rows` of the first rows, each with weight 1.

    Args:
        rows: `[at least num_terms, width]`.
        segment_ids: `[num_terms]` int32, the segment of each row.
        num_segments: Scalar int32.
    """
    count = tf.size(segment_ids)
    ones = tf.ones([count], rows.dtype)
    return combine_rows(rows, tf.range(count), ones, segment_ids, num_segments)


def map_parts(
    function: Callable[..., tuple[tf.Tensor, ...]],
    ends: tf.Tensor,
    dtype: tf.DType,
    *state: tf.Tensor,
    width: int | None = None,
) -> tuple[Any, ...]:
    """Calls a function for consecutive parts, one after the other: each uses all cores.

    Args:
        function: `function(part, *state)`, where `part` is the slice of a part, returns its result
            `[any, width]` and the next state.
        ends: `[parts]` int32, ascending: where each part ends.
        dtype: Of the results.
        *state: Before the first part.
        width: Of the results, if there may be no parts.

    Returns:
        The results, concatenated, and the last state.
    """

    def step(i: tf.Tensor, start: tf.Tensor, results: tf.TensorArray, *state: tf.Tensor) -> Any:
        result, *rest = function(slice(start, ends[i]), *state)
        return i + 1, ends[i], results.write(i, result), *rest

    results = tf.TensorArray(dtype, tf.size(ends), infer_shape=False, element_shape=[None, width])
    zero = tf.constant(0)
    _, _, results, *rest = tf.while_loop(
        lambda i, *_: i < tf.size(ends), step, (zero, zero, results, *state), parallel_iterations=1
    )
    return results.concat(), *rest


def equal_ends(count: tf.Tensor, size: int | tf.Tensor) -> tf.Tensor:
    """Returns the `ends` of parts of `size` of `count` rows; the last may be smaller."""
    return tf.minimum(tf.range(size, count + size, size), count)


def sum_duplicates(slices: tf.IndexedSlices) -> tf.IndexedSlices:
    """Returns slices with every index once, the values of equal indices added.

    Values that have no duplicates pass through without a copy.
    """
    indices, positions = tf.unique(slices.indices)
    num_values, num_unique = tf.size(slices.indices), tf.size(indices)
    values = tf.cond(
        num_unique < num_values,
        lambda: sum_rows(slices.values, positions, num_unique),
        lambda: slices.values,
    )
    return tf.IndexedSlices(values, indices, slices.dense_shape)


def gather_distinct(lookup: Callable[[tf.Tensor], tf.Tensor], ids: tf.Tensor) -> tf.Tensor:
    """Returns `lookup(ids)`, with each distinct id looked up once.

    The gradient of a table then comes as `tf.IndexedSlices` with unique indices. Where an index is
    there twice, stock Keras optimizers square its parts apart and not their sum.

    Args:
        lookup: Returns `[k, ...]`, a row for each of the ids `[k]`.
        ids: `[batch]` integers, in any order and with repeats.
    """
    distinct, places = tf.unique(ids)
    return tf.gather(lookup(distinct), places)


def put_in_place(matrix: tf.Tensor, places: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
    """Returns `matrix` with values put at places, in the memory of the matrix given.

    Only for a matrix that nothing else reads. `tf.tensor_scatter_nd_update` copies it, however many
    read it.

    Args:
        matrix: `[rows, columns]`; of less than 2^31 elements, if its shape is unknown.
        places: `[k, 2]`, distinct pairs (row, column).
        values: `[k]`, in the dtype of the matrix.
    """
    if (matrix.shape.num_elements() or 0) > tf.int32.max:
        # The op in place counts in 32 bits.
        return tf.tensor_scatter_nd_update(matrix, places, values)
    shape, places = tf.shape(matrix), tf.cast(places, tf.int32)
    flat = tf.raw_ops.InplaceUpdate(
        x=tf.reshape(matrix, [-1, 1]),
        i=places[:, 0] * shape[1] + places[:, 1],
        v=values[:, tf.newaxis],
    )
    return tf.ensure_shape(tf.reshape(flat, shape), matrix.shape)


def add_in_place(table: tf.Tensor, ids: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
    """Returns `table` `[num_rows, width]` with rows `[k, width]` added to rows `ids` `[k]`.

    Equal ids add up. In the memory of the table, as `put_in_place`.
    """
    return tf.raw_ops.InplaceAdd(x=table, i=ids, v=rows)
