"""Queries of a batch and their gradients, compiled by XLA.

A query is many elementwise operations that XLA makes one pass. Components have an axis of their own
wherever that pass reads or writes: it then vectorizes over the last axis. Across the components of
a row it would choose between them for each float.
"""

import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from quatre_tf.layers.score_function import ScoreFunction
from quatre_tf.objectives.matrix_queries import matrix_gradients, products_by_relation

# Triples are filled up to a multiple: each number of them is compiled.
MULTIPLE = 512


def compiled(program: Callable[..., Any]) -> Callable[..., Any]:
    """Compiles a pure function of a score function, once for all that are configured alike.

    A process that trains many models keeps one compiled function for each kind, not for each model.
    """
    functions: dict[Any, Callable[..., Any]] = {}

    @functools.wraps(program)
    def call(function: ScoreFunction, *arguments: Any) -> Any:
        kind = function.kind
        if kind not in functions:
            # Without tables: nothing of a model is kept.
            twin = type(function).from_config(function.get_config())
            functions[kind] = tf.function(
                functools.partial(program, twin), jit_compile=True, autograph=False
            )
        return functions[kind](*arguments)

    return call


def queries(
    function: ScoreFunction,
    entities: tf.Tensor,
    folded: tf.Tensor,
    index: tf.Tensor,
    is_head: tf.Tensor | None,
) -> tf.Tensor:
    """Returns tail queries `[batch, width]`, or head queries where `is_head` `[batch]` says so.

    Args:
        function: Makes the queries.
        entities: `[batch, entity_width]`.
        folded: `[k, ...]` of `ScoreFunction.fold`.
        index: `[batch]`, the row of `folded` of each query.
        is_head: None if all are for tails.
    """
    if function.multiplies_by_matrix:
        return products_by_relation(entities, *_matrices(function, folded, index, is_head))
    return _row_queries(function, entities, tf.gather(folded, index), is_head)


def query_gradients(
    function: ScoreFunction,
    entities: tf.Tensor,
    folded: tf.Tensor,
    index: tf.Tensor,
    is_head: tf.Tensor | None,
    upstream: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the gradients of entities and folded relations for that of their `queries`."""
    num_folded = tf.shape(folded)[0]
    if not function.multiplies_by_matrix:
        of_entities, of_rows = _row_query_gradients(
            function, entities, tf.gather(folded, index), is_head, upstream
        )
        return of_entities, tf.math.unsorted_segment_sum(of_rows, index, num_folded)
    matrices, places = _matrices(function, folded, index, is_head)
    of_entities = products_by_relation(upstream, matrices, places, transpose=True)
    of_matrices = matrix_gradients(entities, upstream, places, tf.shape(matrices)[0])
    if is_head is not None:
        of_matrices = of_matrices[:num_folded] + tf.linalg.matrix_transpose(
            of_matrices[num_folded:]
        )
    return of_entities, tf.reshape(of_matrices, tf.shape(folded))


def _matrices(
    function: ScoreFunction, folded: tf.Tensor, index: tf.Tensor, is_head: tf.Tensor | None
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the matrices, the transposed ones added for head queries, and each query's place."""
    matrices = tf.reshape(folded, [-1, function.embedding_dim, function.embedding_dim])
    if is_head is None:
        return matrices, index
    both = tf.concat([matrices, tf.linalg.matrix_transpose(matrices)], axis=0)
    return both, tf.where(is_head, index + tf.shape(matrices)[0], index)


@compiled
def _row_queries(
    function: ScoreFunction, entities: tf.Tensor, folded: tf.Tensor, is_head: tf.Tensor | None
) -> tf.Tensor:
    return _queries(function, entities, folded, is_head)


@compiled
def _row_query_gradients(
    function: ScoreFunction,
    entities: tf.Tensor,
    folded: tf.Tensor,
    is_head: tf.Tensor | None,
    upstream: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor]:
    with tf.GradientTape() as tape:
        tape.watch([entities, folded])
        found = _queries(function, entities, folded, is_head)
    return tape.gradient(found, [entities, folded], output_gradients=upstream)


@compiled
def both_queries(
    function: ScoreFunction,
    heads: tf.Tensor,
    tails: tf.Tensor,
    folded: tf.Tensor,
    relation_index: tf.Tensor,
) -> tf.Tensor:
    """Returns the tail and the head query of triples, `[batch, 2, width]`.

    Args:
        function: Makes the queries.
        heads: `[batch, entity_width]`.
        tails: `[batch, any, entity_width]`, the tail first: it is never copied out.
        folded: `[k, ...]`.
        relation_index: `[batch]`, the row of `folded` of each triple.
    """
    rows = _rows_apart(function, heads, tails, folded, relation_index)
    return _together(_both_queries(function, *rows))


@compiled
def both_query_gradients(
    function: ScoreFunction,
    heads: tf.Tensor,
    tails: tf.Tensor,
    folded: tf.Tensor,
    relation_index: tf.Tensor,
    upstream: tf.Tensor,
    sources: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns `sources`, then the gradients of heads, then of tails; and of folded relations.

    They are put together here, because outside a copy would be one more pass.

    Args:
        function: As for `both_queries`.
        heads: As for `both_queries`.
        tails: As for `both_queries`.
        folded: As for `both_queries`.
        relation_index: As for `both_queries`.
        upstream: `[batch, 2, width]`, the gradient of `both_queries`.
        sources: `[k, entity_width]`.
    """
    rows = _rows_apart(function, heads, tails, folded, relation_index)
    with tf.GradientTape() as tape:
        tape.watch(rows)
        found = _both_queries(function, *rows)
    of_heads, of_tails, of_folded = tape.gradient(
        found, rows, output_gradients=_apart(function, upstream)
    )
    entities = tf.concat([_apart(function, sources), of_heads, of_tails], axis=0)
    return _together(entities), _together(of_folded)


@compiled
def relation_derivatives(
    function: ScoreFunction, heads: tf.Tensor, tails: tf.Tensor, folded_width: int
) -> tf.Tensor:
    """Returns the derivative of scores by the folded relation, `[batch, folded_width]`.

    A multilinear score is the dot product of this and the folded relation.
    """
    folded = tf.zeros([tf.shape(heads)[0], folded_width], heads.dtype)
    with tf.GradientTape() as tape:
        tape.watch(folded)
        scores = function.similarity.pairs(function.tail_queries(heads, folded), tails)
    return tape.gradient(scores, folded)


@compiled
def end_gradients(
    function: ScoreFunction, heads: tf.Tensor, tails: tf.Tensor, folded: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the derivatives of scores by heads and tails, both `[batch, entity_width]`."""
    with tf.GradientTape() as tape:
        tape.watch([heads, tails])
        scores = function.similarity.pairs(function.tail_queries(heads, folded), tails)
    return tape.gradient(scores, [heads, tails])


def _queries(
    function: ScoreFunction, entities: tf.Tensor, folded: tf.Tensor, is_head: tf.Tensor | None
) -> tf.Tensor:
    tail_queries = function.tail_queries(entities, folded)
    if is_head is None:
        return tail_queries
    return tf.where(is_head[:, tf.newaxis], function.head_queries(entities, folded), tail_queries)


def _both_queries(function: ScoreFunction, *rows: tf.Tensor) -> tf.Tensor:
    heads, tails, folded = map(_together, rows)
    both = function.tail_queries(heads, folded), function.head_queries(tails, folded)
    return tf.stack([_apart(function, some) for some in both], axis=1)


def _rows_apart(
    function: ScoreFunction,
    heads: tf.Tensor,
    tails: tf.Tensor,
    folded: tf.Tensor,
    relation_index: tf.Tensor,
) -> list[tf.Tensor]:
    return [
        _apart(function, heads),
        _apart(function, tails[:, 0]),
        tf.gather(_apart(function, folded), relation_index),
    ]


def _apart(function: ScoreFunction, rows: tf.Tensor) -> tf.Tensor:
    """Returns rows `[..., width]` as `[..., width / embedding_dim, embedding_dim]`."""
    width = rows.shape[-1]
    dim = width if width % function.embedding_dim else function.embedding_dim
    return tf.reshape(rows, [-1, *rows.shape[1:-1], width // dim, dim])


def _together(components: tf.Tensor) -> tf.Tensor:
    """Returns the rows that `_apart` took apart."""
    *others, count, dim = components.shape
    return tf.reshape(components, [-1, *others[1:], count * dim])
