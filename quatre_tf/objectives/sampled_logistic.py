"""The training objective of the paper and its gradient, in closed form.

The objective is the mean logistic loss over positives and corrupted triples plus the batch L2 of
the reference implementation (`losses.logistic_loss`, `regularizers.batch_l2`). Its gradient is
written out because automatic differentiation would move several times the memory: it would write a
gradient row for every occurrence of an entity and add them up afterwards. Here

* all negatives of a positive share its two queries `h ⊗ w_r` and `t ⊗ conj(w_r)`, so that scores
  and query gradients are small batched matrix products;
* the gradient of the entity rows is one sparse-dense product with the queries as right factor, and
  never exists per occurrence;
* the regulariser's gradient is a multiple of the gathered rows.

Entity rows are handled by one compiled operation where it was built
(`quatre_tf.accelerated.kernel`), and otherwise by TensorFlow's operations.

`test_sampled_logistic.py` compares it with automatic differentiation of the plain form, and
`test_golden_training.py` with the reference implementation.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

from quatre_tf.accelerated import kernel
from quatre_tf.losses import logistic_loss
from quatre_tf.model import QuatRE
from quatre_tf.objectives.objective import Objective
from quatre_tf.quaternion import as_quaternions, as_rows, conjugate, hamilton_product
from quatre_tf.sparse_rows import combine_rows, sum_rows


class SampledBatch(NamedTuple):
    """Positive triples and, for each, corrupted ones that differ in the head or the tail.

    Attributes:
        heads: `[batch]` int32.
        relations: `[batch]` int32.
        tails: `[batch]` int32.
        corrupted: `[batch, num_negatives]` int32, the entity put in.
        tail_corrupted: `[batch, num_negatives]` bool, true where it replaces the tail.
    """

    heads: tf.Tensor
    relations: tf.Tensor
    tails: tf.Tensor
    corrupted: tf.Tensor
    tail_corrupted: tf.Tensor


def sampled_logistic_objective(
    model: QuatRE, batch: SampledBatch, *, l2: float, num_triples: int | tf.Tensor
) -> Objective:
    """Returns the paper's objective on `batch` and its gradient.

    Args:
        model: The model; all its tables are trained.
        batch: The positives and corrupted triples of this replica.
        l2: Weight of the batch L2 (lambda of the paper).
        num_triples: Positives and corrupted triples of the global batch. Losses are sums over the
            batch given divided by it, so the sum over replicas is the mean over the global batch.

    Raises:
        ValueError: The model has reciprocal relations, whose rows this objective would never train.
    """
    if model.reciprocal:
        raise ValueError(
            "The paper's objective asks for heads by the relation itself: expected a model with "
            "`reciprocal=False`. Received: reciprocal=True."
        )
    entity_ids = _occurring_entities(batch)
    rows = model.entities.lookup(entity_ids)
    relations = _distinct_relations(batch.relations, model.num_relations)
    with tf.GradientTape() as tape:
        relation_rows = model.relations.lookup(relations.ids)
        tape.watch(relation_rows)
        folded = model.relations.fold(relation_rows)
        relation_l2 = _relation_l2(relation_rows, relations.index, batch)
    unique_ids, index = tf.unique(entity_ids)
    num_triples = tf.cast(num_triples, rows.dtype)
    l2_scale = l2 / (num_triples * model.embedding_dim)
    operands = _Operands(rows, folded, relations.index, batch, index, tf.size(unique_ids))
    operation = compiled_operation(rows.dtype)
    if operation is None:
        entities = _plain_part(operands, 1.0 / num_triples, l2_scale if l2 else None)
    else:
        entities = _compiled_part(operation, operands, 1.0 / num_triples, l2_scale)
    folded_gradient = sum_rows(entities.rotation_gradients, relations.index, tf.size(relations.ids))
    relation_gradients = tape.gradient(
        [folded, relation_l2],
        relation_rows,
        output_gradients=[tf.reshape(folded_gradient, tf.shape(folded)), l2_scale],
    )
    return Objective(
        loss=entities.loss,
        regularization=l2_scale * (relation_l2 + entities.squares),
        gradients=[
            tf.IndexedSlices(entities.gradient, unique_ids),
            *[
                tf.IndexedSlices(gradient[: relations.count], relations.ids[: relations.count])
                for gradient in relation_gradients
            ],
        ],
    )


class _Relations(NamedTuple):
    ids: tf.Tensor  # [slots]: the distinct relations of the batch, then padding with id 0
    index: tf.Tensor  # [batch], the slot of each positive's relation
    count: tf.Tensor  # scalar, how many slots are not padding


def _distinct_relations(relations: tf.Tensor, num_relations: int) -> _Relations:
    """Each relation is folded once, however often it occurs.

    Padded to the largest number there can be, because the compiled functions want one shape for all
    batches.
    """
    ids, index = tf.unique(relations)
    count = tf.size(ids)
    slots = tf.minimum(tf.size(relations), num_relations)
    return _Relations(tf.pad(ids, [[0, slots - count]]), index, count)


class _Operands(NamedTuple):
    rows: tf.Tensor  # [occurrences, 4n], of `_occurring_entities`
    folded: tf.Tensor  # [slots, 4, n]
    relation_index: tf.Tensor  # [batch]
    batch: SampledBatch
    segments: tf.Tensor  # [occurrences], which distinct entity each row is of
    num_segments: tf.Tensor  # scalar


class _EntityPart(NamedTuple):
    loss: tf.Tensor
    squares: tf.Tensor  # scalar, of the head and tail rows of all triples of the batch
    gradient: tf.Tensor  # [num_segments, 4n]
    rotation_gradients: tf.Tensor  # [batch, 4n]


class _Core(NamedTuple):
    loss: tf.Tensor
    score_gradients: tf.Tensor  # [batch, 1 + negatives], candidate 0 is the true tail
    asks_tail: tf.Tensor  # [batch, 1 + negatives] bool
    sources: tf.Tensor  # [4 * batch, 4n]: tail queries, head queries, head and tail gradients
    rotation_gradients: tf.Tensor  # [batch, 4n]
    repeated_squares: tf.Tensor  # [batch, n], of heads and tails where triples repeat them


def _occurring_entities(batch: SampledBatch) -> tf.Tensor:
    """Heads first, then the candidates of each positive: its tail and its negatives.

    One gather serves all; both parts are slices of its result that need no copy.
    """
    candidates = tf.concat([batch.tails[:, tf.newaxis], batch.corrupted], axis=1)
    return tf.concat([batch.heads, tf.reshape(candidates, [-1])], axis=0)


def compiled_operation(dtype: tf.DType = tf.float32) -> Callable[..., Any] | None:
    """Returns the operation of `quatre_tf.accelerated.kernel`, or None where it is not used.

    They are where it was built, but not on GPUs, and not with parameter servers: the worker that a
    step is sent to may not have it.

    Args:
        dtype: Of the tables; the operation is for float32.

    Raises:
        quatre_tf.accelerated.kernel.KernelError: It was built and cannot be loaded.
    """
    servers = isinstance(tf.distribute.get_strategy(), tf.distribute.ParameterServerStrategy)
    if dtype != tf.float32 or servers or tf.config.list_logical_devices("GPU"):
        return None
    return kernel.load()


def _compiled_part(
    operation: Callable[..., Any], operands: _Operands, scale: tf.Tensor, l2_scale: tf.Tensor
) -> _EntityPart:
    rows, folded, relation_index, batch, segments, num_segments = operands
    found = operation(
        rows=rows,
        rotations=as_rows(folded),
        relation_index=relation_index,
        tail_corrupted=batch.tail_corrupted,
        segments=segments,
        num_segments=num_segments,
        scale=scale,
        l2=l2_scale,
    )
    return _EntityPart(*found)


def _plain_part(operands: _Operands, scale: tf.Tensor, l2_scale: tf.Tensor | None) -> _EntityPart:
    core = _entity_core(operands, scale)
    return _EntityPart(
        core.loss,
        _entity_l2(operands.rows, core),
        _entity_gradient(operands, core, l2_scale),
        core.rotation_gradients,
    )


def _entity_core(operands: _Operands, scale: tf.Tensor) -> _Core:
    """Scores all candidates, and takes the gradient back to queries, entities and rotations."""
    rows, folded, relation_index, batch = operands[:4]
    batch_size, width = tf.shape(batch.heads)[0], rows.shape[-1]
    num_candidates = batch.corrupted.shape[1] + 1
    candidates = tf.reshape(rows[batch_size:], [-1, num_candidates, width])
    heads = rows[:batch_size]

    queries, repeated_squares = _queries(
        heads, candidates, folded, relation_index, batch.tail_corrupted
    )
    both_scores = tf.linalg.matmul(queries, candidates, transpose_b=True)
    asks_tail = tf.pad(batch.tail_corrupted, [[0, 0], [1, 0]], constant_values=True)
    scores = tf.where(asks_tail, both_scores[:, 0], both_scores[:, 1])
    labels = tf.concat([tf.ones_like(scores[:, :1]), -tf.ones_like(scores[:, 1:])], axis=1)

    loss = scale * tf.reduce_sum(logistic_loss(scores, labels))
    score_gradients = -scale * labels * tf.sigmoid(-labels * scores)
    side = tf.cast(tf.stack([asks_tail, ~asks_tail], axis=1), rows.dtype)
    query_gradients = tf.linalg.matmul(side * score_gradients[:, tf.newaxis], candidates)
    sources, rotation_gradients = _query_gradients(
        heads, candidates, folded, relation_index, queries, query_gradients
    )
    return _Core(loss, score_gradients, asks_tail, sources, rotation_gradients, repeated_squares)


# Compiled, because a Hamilton product is 28 elementwise operations that XLA makes one pass; so are
# the tail among the candidates and the rotation of each positive, which are never copied out.


@tf.function(jit_compile=True)
def _queries(
    heads: tf.Tensor,
    candidates: tf.Tensor,
    folded: tf.Tensor,
    relation_index: tf.Tensor,
    tail_corrupted: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Makes what needs one pass over heads and tails.

    Returns:
        `[batch, 2, 4n]`, the tail query and the head query of each positive, and `[batch, n]`,
        whose sum is that of the squares of heads and tails, each as often as a triple of the batch
        was corrupted at the other side.
    """
    head, tail, rotation = _quaternions(heads, candidates, folded, relation_index)
    queries = [hamilton_product(head, rotation), hamilton_product(tail, conjugate(rotation))]
    heads_again = tf.reduce_sum(tf.cast(tail_corrupted, heads.dtype), axis=1)[:, tf.newaxis]
    tails_again = tail_corrupted.shape[1] - heads_again
    squares = heads_again * _norms2(head) + tails_again * _norms2(tail)
    return tf.reshape(tf.stack(queries, axis=1), [-1, 2, heads.shape[1]]), squares


def _norms2(quaternions: tf.Tensor) -> tf.Tensor:
    return tf.add_n([tf.square(part) for part in tf.unstack(quaternions, axis=1)])


@tf.function(jit_compile=True)
def _query_gradients(
    heads: tf.Tensor,
    candidates: tf.Tensor,
    folded: tf.Tensor,
    relation_index: tf.Tensor,
    queries: tf.Tensor,
    query_gradients: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Takes query gradients x (tail query), y (head query) back through the Hamilton products.

    Right multiplication by w and by conj(w) are adjoint, and `<h ⊗ w, x> = <w, conj(h) ⊗ x>`,
    `<t ⊗ conj(w), y> = <w, conj(y) ⊗ t>`.

    Returns:
        `[4 * batch, 4n]` source rows (tail queries, head queries, head gradients, tail gradients)
        and `[batch, 4n]` gradients of the rotations.
    """
    head, tail, rotation = _quaternions(heads, candidates, folded, relation_index)
    x, y = tf.unstack(as_quaternions(query_gradients), axis=1)
    head_gradients = hamilton_product(x, conjugate(rotation))
    tail_gradients = hamilton_product(y, rotation)
    tail_queries, head_queries = tf.unstack(as_quaternions(queries), axis=1)
    sources = tf.stack([tail_queries, head_queries, head_gradients, tail_gradients])
    rotation_gradients = hamilton_product(conjugate(head), x) + hamilton_product(conjugate(y), tail)
    return as_rows(sources), as_rows(rotation_gradients)


def _quaternions(
    heads: tf.Tensor, candidates: tf.Tensor, folded: tf.Tensor, relation_index: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    return (
        as_quaternions(heads),
        as_quaternions(candidates[:, 0]),
        tf.gather(folded, relation_index),
    )


def _entity_gradient(operands: _Operands, core: _Core, l2_scale: tf.Tensor | None) -> tf.Tensor:
    """Adds up what every occurrence of an entity contributes, one row per distinct entity."""
    rows, _, _, batch, index, num_segments = operands
    batch_size = tf.shape(batch.heads)[0]
    positions = tf.range(batch_size)
    candidate_index = tf.reshape(index[batch_size:], tf.shape(core.score_gradients))
    # A candidate gets its score gradient times its query; a head and a tail get, besides, what
    # comes back through the queries made of them.
    candidate_sources = positions[:, tf.newaxis] + tf.where(core.asks_tail, 0, batch_size)
    ones = tf.ones([2 * batch_size], rows.dtype)
    gradient = combine_rows(
        core.sources,
        tf.concat(
            [tf.reshape(candidate_sources, [-1]), tf.range(2 * batch_size, 4 * batch_size)], axis=0
        ),
        tf.concat([tf.reshape(core.score_gradients, [-1]), ones], axis=0),
        tf.concat([index[batch_size:], index[:batch_size], candidate_index[:, 0]], axis=0),
        num_segments,
    )
    if l2_scale is not None:
        weights = 2.0 * l2_scale * _multiplicities(batch, rows.dtype)
        gradient += combine_rows(rows, tf.range(tf.size(index)), weights, index, num_segments)
    return gradient


def _multiplicities(batch: SampledBatch, dtype: tf.DType) -> tf.Tensor:
    """How many triples of the batch each occurring entity stands for.

    The head stands in its positive and in every triple whose tail was corrupted, the tail the other
    way round, a corrupted entity in one. Order of `_occurring_entities`.
    """
    tail_corrupted = tf.cast(batch.tail_corrupted, dtype)
    head_count = 1.0 + tf.reduce_sum(tail_corrupted, axis=1)
    tail_count = 1.0 + tf.reduce_sum(1.0 - tail_corrupted, axis=1)
    candidates = tf.concat([tail_count[:, tf.newaxis], tf.ones_like(tail_corrupted)], axis=1)
    return tf.concat([head_count, tf.reshape(candidates, [-1])], axis=0)


def _entity_l2(rows: tf.Tensor, core: _Core) -> tf.Tensor:
    """Sum of squares of the head and tail rows of all triples of the batch.

    Every occurring row counts once; heads and tails count again for each triple that was corrupted
    at the other side.
    """
    return 2.0 * tf.nn.l2_loss(rows) + tf.reduce_sum(core.repeated_squares)


def _relation_l2(
    rows: list[tf.Tensor], relation_index: tf.Tensor, batch: SampledBatch
) -> tf.Tensor:
    """Sum of squares of the relation's rows over all triples of the batch."""
    positives = tf.math.bincount(relation_index, minlength=tf.shape(rows[0])[0])
    counts = tf.cast(positives * (1 + batch.corrupted.shape[1]), rows[0].dtype)
    return tf.add_n([tf.reduce_sum(counts[:, tf.newaxis] * tf.square(row)) for row in rows])
