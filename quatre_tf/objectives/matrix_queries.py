"""Products of rows with the matrices of their relations, and the gradient.

A matrix for each row, as `tf.gather` would make it, is a quarter of a gigabyte for 1,000 rows of
256 floats. Rows of the same relation are multiplied together instead.
"""

from collections.abc import Callable

import tensorflow as tf


def products_by_relation(
    rows: tf.Tensor, matrices: tf.Tensor, index: tf.Tensor, *, transpose: bool = False
) -> tf.Tensor:
    """Returns `[batch, dim]`: each row times its matrix.

    Args:
        rows: `[batch, dim]`.
        matrices: `[k, dim, dim]`.
        index: `[batch]`, the matrix of each row.
        transpose: Whether to multiply by the transposed matrices.
    """
    order = tf.argsort(index)
    rows = tf.gather(rows, order)

    def product(k: tf.Tensor, part: slice) -> tf.Tensor:
        return tf.linalg.matmul(rows[part], matrices[k], transpose_b=transpose)

    products = _map_groups(product, index, tf.shape(matrices)[0], rows.shape[1:]).concat()
    return tf.gather(products, tf.math.invert_permutation(order))


def matrix_gradients(
    rows: tf.Tensor, upstream: tf.Tensor, index: tf.Tensor, num_matrices: tf.Tensor
) -> tf.Tensor:
    """Returns the gradient `[num_matrices, dim, dim]` of the matrices of `products_by_relation`.

    Args:
        rows: `[batch, dim]`.
        upstream: `[batch, dim]`, the gradient of the products.
        index: `[batch]`, the matrix of each row.
        num_matrices: Scalar.
    """
    order = tf.argsort(index)
    rows, upstream = tf.gather(rows, order), tf.gather(upstream, order)

    def product(_: tf.Tensor, part: slice) -> tf.Tensor:
        return tf.linalg.matmul(rows[part], upstream[part], transpose_a=True)

    return _map_groups(product, index, num_matrices, rows.shape[1:]).stack()


def _map_groups(
    function: Callable[[tf.Tensor, slice], tf.Tensor],
    index: tf.Tensor,
    num_groups: tf.Tensor,
    width: tf.TensorShape,
) -> tf.TensorArray:
    """Returns the function of each group, its number and the slice of its sorted rows."""
    counts = tf.math.bincount(index, minlength=num_groups)
    ends = tf.cumsum(counts)
    results = tf.TensorArray(
        tf.float32, num_groups, infer_shape=False, element_shape=[None, *width]
    )

    def add(k: tf.Tensor, results: tf.TensorArray) -> tuple[tf.Tensor, tf.TensorArray]:
        return k + 1, results.write(k, function(k, slice(ends[k] - counts[k], ends[k])))

    return tf.while_loop(lambda k, _: k < num_groups, add, (tf.constant(0), results))[1]
