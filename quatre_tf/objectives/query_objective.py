"""What the softmax objectives share: all but the candidates.

A query is an entity with a relation and asks for the tails, or for the heads. The loss of one with
c targets is the sum of c cross-entropies over the same scores, so that it is computed once:

    sum over targets t of (logsumexp(scores) - scores[t]) = c logsumexp(scores) - sum of scores[t]

To it come, if wanted, regularisers of each triple, N3 (Lacroix et al., ICML 2018) and DURA (Zhang
et al., NeurIPS 2020), and the prediction of its relation (Chen et al., AKBC 2021). All gradients
are written out.

DURA (`regularizers.dura`) keeps a query and its answer close by their squared norms. Each direction
in which a triple is asked has that of its own query: the rotation of the heads' is conj(w), as in
the paper, or that of the inverse relation. Moduli multiply, so |e ⊗ w|^2 needs no product: it is
the sum of |e_k|^2 |w_k|^2 over the quaternions k.
"""

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from quatre_tf.model import QuatRE
from quatre_tf.objectives.objective import Objective
from quatre_tf.objectives.relation_prediction import predict_relations
from quatre_tf.quaternion import as_quaternions, as_rows, conjugate, hamilton_product
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
        dura: Weight of the DURA regulariser of each triple.
        label_smoothing: Share of a target's probability that is spread over all entities.
        relation_prediction: Weight of the auxiliary task of Chen et al. (AKBC 2021): to find the
            relation among all, given both entities. 0 leaves it out.
        compute_dtype: Of the matrix products: `tf.float32` or `tf.bfloat16`.
    """

    n3: float = 0.0
    dura: float = 0.0
    label_smoothing: float = 0.0
    relation_prediction: float = 0.0
    compute_dtype: tf.DType = tf.float32


class NormWeights(NamedTuple):
    """What the norms of rows count. Tensors, so that one trace serves every weight.

    Attributes:
        cubed: `[k]` or `[]`: of cubed moduli, N3.
        squared: The same of squared moduli, DURA; None for none.
    """

    cubed: tf.Tensor
    squared: tf.Tensor | None


def norm_weights(options: SoftmaxOptions, weights: tf.Tensor) -> NormWeights:
    """Returns what the norms of rows count that have the weights `[k]` or `[]` in the loss."""
    return NormWeights(options.n3 * weights, options.dura * weights if options.dura else None)


class Ranking(NamedTuple):
    """A softmax over candidates with the regulariser of the targets, and the gradient of both.

    Attributes:
        loss: Scalar.
        regularization: Scalar, what the regularisers have of the targets, weighted.
        query_gradient: `[batch, 4n]`.
        contributions: Pairs of entity ids `[k]` and gradient rows `[k, 4n]`.
        table_gradient: `[num_entities, 4n]`, or None where the contributions are all.
    """

    loss: tf.Tensor
    regularization: tf.Tensor
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
    regularization, given_gradient, turned_gradient = _take_back(
        given, turned, ranking.query_gradient, norm_weights(options, weights)
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
        regularization=regularization + ranking.regularization,
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
    given: tf.Tensor, turned: tf.Tensor, query_gradient: tf.Tensor, norms: NormWeights
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Takes query gradients back to entities and rotations, and adds what is asked of both.

    The adjoint of right multiplication by w is that by conj(w), and of left multiplication by e
    that by conj(e).
    """
    gradient, entities = as_quaternions(query_gradient), as_quaternions(given)
    of_entities, entity_gradient = _norms(entities, norms)
    of_rotations, rotation_gradient = _norms(turned, norms._replace(squared=None))
    value = of_entities + of_rotations
    if norms.squared is not None:
        weights = tf.reshape(norms.squared, [-1, 1, 1])
        entity_squares, rotation_squares = _squared_moduli(entities), _squared_moduli(turned)
        value += tf.reduce_sum(weights * entity_squares * rotation_squares)
        entity_gradient += 2.0 * weights * rotation_squares * entities
        rotation_gradient += 2.0 * weights * entity_squares * turned
    return (
        value,
        as_rows(hamilton_product(gradient, conjugate(turned)) + entity_gradient),
        hamilton_product(conjugate(entities), gradient) + rotation_gradient,
    )


def regularize_targets(rows: tf.Tensor, norms: NormWeights) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns what the regularisers have of targets `[k, 4n]`, and its gradient."""
    value, gradient = _norms(as_quaternions(rows), norms)
    return value, as_rows(gradient)


def _norms(quaternions: tf.Tensor, norms: NormWeights) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the sum of cubed and of squared moduli by their weights, and its gradient."""
    squares = _squared_moduli(quaternions)
    moduli = tf.sqrt(squares)
    weights = tf.reshape(norms.cubed, [-1, 1, 1])
    values, factors = weights * moduli, 3.0 * weights * moduli
    if norms.squared is not None:
        weights = tf.reshape(norms.squared, [-1, 1, 1])
        values, factors = values + weights, factors + 2.0 * weights
    return tf.reduce_sum(values * squares), factors * quaternions


def _squared_moduli(quaternions: tf.Tensor) -> tf.Tensor:
    """`[k, 1, n]`."""
    return tf.reduce_sum(tf.square(quaternions), axis=1, keepdims=True)
