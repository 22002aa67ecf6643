"""Several targets of one query: its scores are compared with each, target by target.

What belongs to the targets of a tile is `[depth, batch]`. Queries with more targets come first, so
that those with a second, a third one are leading columns of the scores.
"""

from collections.abc import Callable

import tensorflow as tf

# Of leading columns: comparing is compiled for each width.
_WIDTHS = (64, 128, 256, 512)


def leading_widths(is_asked: tf.Tensor) -> tf.Tensor:
    """Returns `[depth]` int32: how many leading queries have all the d-th targets.

    Args:
        is_asked: `[depth, batch]` bool, where there is a target.
    """
    batch = tf.shape(is_asked)[1]
    needed = tf.reduce_max(tf.where(is_asked, tf.range(batch) + 1, 0), axis=1)
    enough = tf.where(tf.constant(_WIDTHS) >= needed[:, tf.newaxis], _WIDTHS, batch)
    return tf.minimum(tf.reduce_min(enough, axis=1), batch)


def map_targets(
    count: Callable[..., tuple[tf.Tensor, ...]],
    given: list[tf.Tensor],
    widths: tf.Tensor,
    num_results: int,
) -> list[tf.Tensor]:
    """Counts for the first targets of all queries, then for the second ones, and so on.

    Args:
        count: Is given the d-th rows of `given`, each `[width]`, and returns int32 tensors
            `[rows, columns]`, where `columns` is the width or a fraction of it.
        given: `[depth, batch]` each.
        widths: `[depth]`, of `leading_widths`.
        num_results: How many tensors `count` returns.

    Returns:
        These tensors, each for all targets, `[rows, depth, columns]` with `batch` columns or that
        fraction of it; 0 beyond the width.
    """
    batch = tf.shape(given[0])[1]

    def of_depth(arguments: tuple[tf.Tensor, ...]) -> list[tf.Tensor]:
        *rows, width = arguments
        found = count(*(row[:width] for row in rows))
        sizes = [tf.shape(counts)[1] for counts in found]
        # A replica may have no queries at all.
        return [
            tf.pad(counts, [[0, 0], [0, size * batch // tf.maximum(width, 1) - size]])
            for counts, size in zip(found, sizes, strict=True)
        ]

    # One after the other: each uses all cores.
    found = tf.map_fn(
        of_depth,
        (*given, widths),
        parallel_iterations=1,
        fn_output_signature=[tf.TensorSpec([None, None], tf.int32)] * num_results,
    )
    return [tf.transpose(counts, [1, 0, 2]) for counts in found]
