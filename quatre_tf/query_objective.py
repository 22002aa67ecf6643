"""What the softmax objectives share: all but the candidates.

A query is an entity with a relation and asks for the tails, or for the heads. The loss of one with
c targets is the sum of c cross-entropies over the same scores, so that it is computed once:

    sum over targets t of (logsumexp(scores) - scores[t]) = c logsumexp(scores) - sum of scores[t]

To it come the N3 regulariser of each triple (Lacroix et al., ICML 2018) and, if wanted, the
prediction of its relation (Chen et al., AKBC 2021). All gradients are written out.
"""

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from quatre_tf.models import QuatRE
from quatre_tf.objective import Objective
from quatre_tf.quaternion import as_quaternions, as_rows, conjugate, hamilton_product
from quatre_tf.relation_prediction import predict_relations
from quatre_tf.sparse_rows import add_in_place, sum_duplicates


class QueryBatch(NamedTuple):
    """Distinct queries with all their targets.

    Attributes:
        entities: `[batch]` int32, the entity given.
        relations: `[batch]` int32: r asks for the tails of relation r, `num_relations + r` for its
            heads.
        counts: `[batch]` int32, how many targets each query has, at least 1.
        rows: `[num_targets]` int32, the query of each target.
        targets: `[num_targets]` int32 entities, distinct within a query.
    """

    entities: tf.Tensor
    relations: tf.Tensor
    counts: tf.Tensor
    rows: tf.Tensor
    targets: tf.Tensor


class SoftmaxOptions(NamedTuple):
    """What may be varied.

    Attributes:
        n3: Weight of the N3 regulariser of each triple.
        label_smoothing: Share of a target's probability that is spread over all entities.
        relation_prediction: Weight of the auxiliary task of Chen et al. (AKBC 2021): to find the
            relation among all, given both entities. 0 leaves it out.
        compute_dtype: Of the matrix products: `tf.float32` or `tf.bfloat16`.
    """

    n3: float = 0.0
    label_smoothing: float = 0.0
    relation_prediction: float = 0.0
    compute_dtype: tf.DType = tf.float32


class Ranking(NamedTuple):
    """A softmax over candidates with the regulariser of the targets, and the gradient of both.

    Attributes:
        loss: Scalar.
        target_n3: Scalar, the weighted N3 of all targets.
        query_gradient: `[batch, 4n]`.
        contributions: Pairs of entity ids `[k]` and gradient rows `[k, 4n]`.
        table_gradient: `[num_entities, 4n]`, or None where the contributions are all.
    """

    loss: tf.Tensor
    target_n3: tf.Tensor
    query_gradient: tf.Tensor
    contributions: list[tuple[tf.Tensor, tf.Tensor]]
    table_gradient: tf.Tensor | None


def query_objective(
    model: QuatRE,
    batch: QueryBatch,
    options: SoftmaxOptions,
    scale: tf.Tensor,
    rows_of: Callable[[tf.Tensor], tf.Tensor],
    rank: Callable[[tf.Tensor, tf.Tensor], Ranking],
) -> Objective:
    """Returns the objective on `batch` and its gradient.

    Args:
        model: The model; all its tables are trained.
        batch: The queries of this replica.
        options: Weights and precision.
        scale: Scalar, what the loss of each target is multiplied by.
        rows_of: Returns the entity rows `[k, 4n]` of ids `[k]`.
        rank: Returns the ranking for queries `[batch, 4n]` and their weights `[batch]`:
            `scale * counts`.
    """
    weights = scale * tf.cast(batch.counts, tf.float32)
    relations = _relations_in_use(model, batch.relations, options)
    with tf.GradientTape() as tape:
        relation_rows = model.relations.lookup(relations.ids)
        tape.watch(relation_rows)
        rotations = model.query_rotations(relation_rows)
    given = rows_of(batch.entities)
    turned = tf.gather(rotations, relations.index)

    ranking = rank(_rotate(given, turned), weights)
    query_n3, given_gradient, turned_gradient = _take_back(
        given, turned, ranking.query_gradient, options.n3 * weights
    )
    rotations_gradient = tf.math.unsorted_segment_sum(
        turned_gradient, relations.index, tf.shape(rotations)[0]
    )
    contributions = [*ranking.contributions, (batch.entities, given_gradient)]
    loss = ranking.loss
    if options.relation_prediction:
        found = predict_relations(
            (given, rotations),
            rows_of,
            (batch.rows, relations.index, batch.targets),
            options.relation_prediction * scale,
            options.compute_dtype,
        )
        contributions += [(batch.entities, found.given), found.targets]
        loss, rotations_gradient = loss + found.loss, rotations_gradient + found.rotations
    relation_gradients = tape.gradient(
        rotations,
        relation_rows,
        output_gradients=rotations_gradient,
        # A fold of one's own may leave a table out.
        unconnected_gradients=tf.UnconnectedGradients.ZERO,
    )
    return Objective(
        loss=loss,
        regularization=query_n3 + ranking.target_n3,
        gradients=[
            _add_up(ranking.table_gradient, contributions),
            *[tf.IndexedSlices(gradient, relations.ids) for gradient in relation_gradients],
        ],
    )


class _Relations(NamedTuple):
    ids: tf.Tensor  # [k], distinct: the rows of the relation tables that are folded
    index: tf.Tensor  # [batch], the row of each query among the `query_rotations` of those


def _relations_in_use(model: QuatRE, relations: tf.Tensor, options: SoftmaxOptions) -> _Relations:
    """Folding costs by the relation, and FB15k has 2 x 1,345: a step folds those it asks for.

    The prediction of relations asks for all.
    """
    num_rows = model.relations.num_relations
    if options.relation_prediction:
        return _Relations(tf.range(num_rows), relations)
    ids, index = tf.unique(relations % num_rows)
    if not model.reciprocal:
        index = tf.where(relations < num_rows, index, index + tf.size(ids))
    return _Relations(ids, index)


def _add_up(
    table: tf.Tensor | None, contributions: list[tuple[tf.Tensor, tf.Tensor]]
) -> tf.Tensor | tf.IndexedSlices:
    columns = zip(*contributions, strict=True)
    ids, rows = (tf.concat(column, axis=0) for column in columns)
    if table is None:
        return sum_duplicates(tf.IndexedSlices(rows, ids))
    # Nothing else reads the table.
    return add_in_place(table, ids, rows)


# Compiled, because a Hamilton product is 28 elementwise operations that XLA makes one pass.


@tf.function(jit_compile=True)
def _rotate(given: tf.Tensor, turned: tf.Tensor) -> tf.Tensor:
    """Returns the queries `e ⊗ w` `[batch, 4n]`."""
    return tf.reshape(hamilton_product(as_quaternions(given), turned), tf.shape(given))


@tf.function(jit_compile=True)
def _take_back(
    given: tf.Tensor, turned: tf.Tensor, query_gradient: tf.Tensor, n3_weights: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Takes query gradients back to entities and rotations, and adds what N3 asks of both.

    The adjoint of right multiplication by w is that by conj(w), and of left multiplication by e
    that by conj(e).
    """
    gradient = as_quaternions(query_gradient)
    entity_n3, entity_n3_gradient = weighted_n3(given, n3_weights)
    rotation_n3, rotation_n3_gradient = weighted_n3(as_rows(turned), n3_weights)
    return (
        entity_n3 + rotation_n3,
        as_rows(hamilton_product(gradient, conjugate(turned))) + entity_n3_gradient,
        hamilton_product(conjugate(as_quaternions(given)), gradient)
        + as_quaternions(rotation_n3_gradient),
    )


def weighted_n3(rows: tf.Tensor, weights: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the sum of cubed moduli of rows `[k, 4n]` by weights `[k]` or `[]`, and its gradient.

    See `regularizers.n3` for the source.
    """
    quaternions = as_quaternions(rows)
    moduli = tf.sqrt(tf.reduce_sum(tf.square(quaternions), axis=1, keepdims=True))
    weighted = tf.reshape(weights, [-1, 1, 1]) * moduli
    return tf.reduce_sum(weighted * tf.square(moduli)), as_rows(3.0 * weighted * quaternions)
