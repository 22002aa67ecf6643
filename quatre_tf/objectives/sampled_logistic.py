"""The training objective of the paper and its gradient.

The objective is the mean logistic loss over positives and corrupted triples plus the batch L2 of
the reference implementation: the mean square of each component (of a quaternion, say) of the rows
of all triples, summed over components and tables. Automatic differentiation of the whole would move
several times the memory: it would write a gradient row for every occurrence of an entity and add
them up afterwards. Here

* all negatives of a positive share its two queries, so that scores and query gradients are small
  batched matrix products;
* one vector-Jacobian product takes the gradients of the queries to heads, tails and relations;
* the gradient of the entity rows is one sparse-dense product with the queries as right factor, and
  never exists per occurrence (where scores are dot products);
* the regularizer's gradient is a multiple of the gathered rows.

For rotations, entity rows are handled by one compiled operation where it was built
(`quatre_tf.accelerated.kernel`), and otherwise by TensorFlow's operations.

`test_sampled_logistic.py` compares it with the plain form in NumPy, and
`test_golden_training.py` with the reference implementation.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from quatre_tf.accelerated import kernel
from quatre_tf.layers.relation_rotations import RelationRotations
from quatre_tf.layers.score_function import ScoreFunction
from quatre_tf.model import KGEModel
from quatre_tf.objectives import compiled_queries
from quatre_tf.objectives.losses import logistic_loss
from quatre_tf.objectives.objective import Objective
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
    model: KGEModel, batch: SampledBatch, *, l2: float, num_triples: int | tf.Tensor
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
            "The paper's objective predicts heads by the relation itself: expected a model with "
            "`reciprocal=False`. Received: reciprocal=True."
        )
    function = model.score_function
    entity_ids = _occurring_entities(batch)
    rows = model.entities.lookup(entity_ids)
    relations = _distinct_relations(batch.relations, model.num_relations)
    with tf.GradientTape() as tape:
        relation_rows = function.lookup(relations.ids)
        dense = [function.shared_weights[name] for name in function.dense_tables()]
        tape.watch([relation_rows, dense])
        folded = function.fold(relation_rows)
        weights_l2 = _weights_l2(relation_rows, dense, relations.index, batch)
    unique_ids, index = tf.unique(entity_ids)
    num_triples = tf.cast(num_triples, rows.dtype)
    scale, l2_scale = 1.0 / num_triples, l2 / (num_triples * model.embedding_dim)
    num_entities = tf.size(unique_ids)
    operation = compiled_operation(function, rows.dtype)
    if operation is None:
        l2_if_any = l2_scale if l2 else None
        entities = _entity_part(
            function, rows, folded, relations.index, batch, index, num_entities, scale, l2_if_any
        )
    else:
        found = operation(
            rows=rows,
            rotations=folded,
            relation_index=relations.index,
            tail_corrupted=batch.tail_corrupted,
            segments=index,
            num_segments=num_entities,
            scale=scale,
            l2=l2_scale,
        )
        entities = _EntityPart(*found)
    folded_gradient = sum_rows(entities.folded_gradients, relations.index, tf.size(relations.ids))
    relation_gradients, dense_l2 = tape.gradient(
        [folded, weights_l2],
        [relation_rows, dense],
        output_gradients=[tf.ensure_shape(folded_gradient, folded.shape), l2_scale],
    )
    return Objective(
        loss=entities.loss,
        regularization=l2_scale * (weights_l2 + entities.squares),
        gradients=[
            tf.IndexedSlices(entities.gradient, unique_ids),
            *(
                tf.IndexedSlices(gradient[: relations.count], relations.ids[: relations.count])
                for gradient in relation_gradients
            ),
            *map(tf.add, entities.dense_gradients, dense_l2),
        ],
    )


class _Relations(NamedTuple):
    ids: tf.Tensor  # [slots]: the distinct relations of the batch, then padding with id 0
    index: tf.Tensor  # [batch], the slot of each positive's relation
    count: tf.Tensor  # scalar, how many slots are not padding


def _distinct_relations(relations: tf.Tensor, num_relations: int) -> _Relations:
    """Each relation is folded once, however often it occurs.

    Padded to the largest number there can be, because compiled functions want one shape for all
    batches.
    """
    ids, index = tf.unique(relations)
    count = tf.size(ids)
    slots = tf.minimum(tf.size(relations), num_relations)
    return _Relations(tf.pad(ids, [[0, slots - count]]), index, count)


class _EntityPart(NamedTuple):
    loss: tf.Tensor
    squares: tf.Tensor  # scalar, of the head and tail rows of all triples of the batch
    gradient: tf.Tensor  # [num_segments, width]
    folded_gradients: tf.Tensor  # [batch, folded width]
    dense_gradients: Sequence[tf.Tensor] = ()  # of the weights that all relations share


def _occurring_entities(batch: SampledBatch) -> tf.Tensor:
    """Heads first, then the candidates of each positive: its tail and its negatives.

    One gather serves all; both parts are slices of its result that need no copy.
    """
    candidates = tf.concat([batch.tails[:, tf.newaxis], batch.corrupted], axis=1)
    return tf.concat([batch.heads, tf.reshape(candidates, [-1])], axis=0)


def compiled_operation(
    function: ScoreFunction, dtype: tf.DType = tf.float32
) -> Callable[..., Any] | None:
    """Returns the compiled operation for float32 rotations, or None where it is not used.

    Raises:
        quatre_tf.accelerated.kernel.KernelError: It was built and cannot be loaded.
    """
    # A subclass may score otherwise.
    fits = type(function) is RelationRotations and dtype == tf.float32
    operations = kernel.operations() if fits else None
    return operations.quatre_sampled_logistic if operations else None


def _entity_part(
    function: ScoreFunction,
    rows: tf.Tensor,  # [occurrences, width], of `_occurring_entities`
    folded: tf.Tensor,  # [slots, folded width]
    relation_index: tf.Tensor,  # [batch]
    batch: SampledBatch,
    segments: tf.Tensor,  # [occurrences], which distinct entity each row is of
    num_segments: tf.Tensor,  # scalar
    scale: tf.Tensor,
    l2_scale: tf.Tensor | None,
) -> _EntityPart:
    """Scores all candidates, and takes the gradient back to entities and relations."""
    batch_size = tf.shape(batch.heads)[0]
    num_candidates = batch.corrupted.shape[1] + 1
    candidates = tf.reshape(rows[batch_size:], [-1, num_candidates, rows.shape[-1]])
    heads = rows[:batch_size]
    queries = compiled_queries.both_queries(function, heads, candidates, folded, relation_index)
    queries, encoder_gradients = function.encode_in_training(queries, None)
    asks_tail = tf.pad(batch.tail_corrupted, [[0, 0], [1, 0]], constant_values=True)
    scored = (_dot_scores if function.similarity.linear else _other_scores)(
        function, queries, candidates, asks_tail, scale
    )
    query_gradients, dense_gradients = encoder_gradients(scored.query_gradients)
    sources, folded_gradients = compiled_queries.both_query_gradients(
        function, heads, candidates, folded, relation_index, query_gradients, scored.sources
    )
    # A candidate gets its score gradient times its query, or a row of its own where that is not the
    # gradient; a head and a tail also get what comes back through the queries made of them.
    ones = tf.ones([2 * batch_size], rows.dtype)
    candidate_index = tf.reshape(segments[batch_size:], tf.shape(asks_tail))
    num_sources = tf.shape(scored.sources)[0]
    gradient = combine_rows(
        sources,
        tf.concat([scored.source_ids, num_sources + tf.range(2 * batch_size)], axis=0),
        tf.concat([scored.source_weights, ones], axis=0),
        tf.concat([segments[batch_size:], segments[:batch_size], candidate_index[:, 0]], axis=0),
        num_segments,
    )
    squares = tf.zeros([], rows.dtype)
    if l2_scale is not None:
        weights = 2.0 * l2_scale * _multiplicities(batch, rows.dtype)
        gradient += combine_rows(rows, tf.range(tf.size(segments)), weights, segments, num_segments)
        # Every occurring row counts once; heads and tails count again for each triple that was
        # corrupted at the other side.
        repeated = _repeated_squares(heads, candidates, batch.tail_corrupted)
        squares = 2.0 * tf.nn.l2_loss(rows) + tf.reduce_sum(repeated)
    return _EntityPart(scored.loss, squares, gradient, folded_gradients, dense_gradients)


@tf.function(jit_compile=True, autograph=False)
def _repeated_squares(
    heads: tf.Tensor, candidates: tf.Tensor, tail_corrupted: tf.Tensor
) -> tf.Tensor:
    """Returns `[batch, width]`: squares of heads and tails, as often as triples repeat them."""
    heads_again = tf.reduce_sum(tf.cast(tail_corrupted, heads.dtype), axis=1)[:, tf.newaxis]
    tails_again = tail_corrupted.shape[1] - heads_again
    return heads_again * tf.square(heads) + tails_again * tf.square(candidates[:, 0])


class _Scored(NamedTuple):
    loss: tf.Tensor
    query_gradients: tf.Tensor  # [batch, 2, query width]
    sources: tf.Tensor  # [k, width]: rows that the gradients of the candidates are multiples of
    source_ids: tf.Tensor  # [batch * candidates], the source of each candidate
    source_weights: tf.Tensor  # [batch * candidates]


def _dot_scores(
    function: ScoreFunction,
    queries: tf.Tensor,
    candidates: tf.Tensor,
    asks_tail: tf.Tensor,
    scale: tf.Tensor,
) -> _Scored:
    """The gradient of a candidate is a multiple of its query."""
    del function
    both_scores = tf.linalg.matmul(queries, candidates, transpose_b=True)
    scores = tf.where(asks_tail, both_scores[:, 0], both_scores[:, 1])
    loss, score_gradients = _logistic(scores, scale)
    side = tf.cast(tf.stack([asks_tail, ~asks_tail], axis=1), queries.dtype)
    batch_size = tf.shape(queries)[0]
    # Row 2 i of the sources is the tail query of positive i, the next one its head query.
    source_ids = 2 * tf.range(batch_size)[:, tf.newaxis] + tf.where(asks_tail, 0, 1)
    return _Scored(
        loss,
        tf.linalg.matmul(side * score_gradients[:, tf.newaxis], candidates),
        tf.reshape(queries, [-1, queries.shape[-1]]),
        tf.reshape(source_ids, [-1]),
        tf.reshape(score_gradients, [-1]),
    )


@compiled_queries.compiled
def _other_scores(
    function: ScoreFunction,
    queries: tf.Tensor,
    candidates: tf.Tensor,
    asks_tail: tf.Tensor,
    scale: tf.Tensor,
) -> _Scored:
    """The gradient of each candidate is a row of its own."""
    with tf.GradientTape() as tape:
        tape.watch([queries, candidates])
        scores = function.similarity.pairs_of_sides(queries, candidates, ~asks_tail)
        scores = tf.cast(scores, queries.dtype)
    loss, score_gradients = _logistic(scores, scale)
    query_gradients, candidate_gradients = tape.gradient(
        scores, [queries, candidates], output_gradients=score_gradients
    )
    sources = tf.reshape(candidate_gradients, [-1, candidates.shape[-1]])
    source_ids = tf.range(tf.shape(sources)[0])
    return _Scored(
        loss, query_gradients, sources, source_ids, tf.ones_like(source_ids, queries.dtype)
    )


def _logistic(scores: tf.Tensor, scale: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the loss of scores `[batch, candidates]`, the positive first, and its gradient."""
    labels = tf.concat([tf.ones_like(scores[:, :1]), -tf.ones_like(scores[:, 1:])], axis=1)
    loss = scale * tf.reduce_sum(logistic_loss(scores, labels))
    return loss, -scale * labels * tf.sigmoid(-labels * scores)


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


def _weights_l2(
    rows: list[tf.Tensor], dense: list[tf.Tensor], relation_index: tf.Tensor, batch: SampledBatch
) -> tf.Tensor:
    """Sum of squares of all weights but entities' over all triples of the batch."""
    positives = tf.math.bincount(relation_index, minlength=tf.shape(rows[0])[0])
    counts = tf.cast(positives * (1 + batch.corrupted.shape[1]), rows[0].dtype)
    of_rows = [tf.reduce_sum(counts[:, tf.newaxis] * tf.square(row)) for row in rows]
    return tf.add_n(of_rows + [tf.reduce_sum(counts) * tf.reduce_sum(w**2) for w in dense])
