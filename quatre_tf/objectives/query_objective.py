"""Base of the softmax objectives, which differ only in their candidates.

A query is an entity with a relation and asks for the tails, or for the heads. The loss of one with
c targets is the sum of c cross-entropies over the same scores, so that it is computed once:

    sum over targets t of (logsumexp(scores) - scores[t]) = c logsumexp(scores) - sum of scores[t]

Optional parts are the regularizers N3 (Lacroix et al., ICML 2018) and DURA (Zhang et al., NeurIPS
2020), and the prediction of relations (Chen et al., AKBC 2021).

The loss gives the gradients of queries and candidates. One vector-Jacobian product of the score
function's queries takes the former to entities and relations.
"""

import functools
from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from quatre_tf.layers.normalization import dropout
from quatre_tf.model import KGEModel
from quatre_tf.objectives import compiled_queries
from quatre_tf.objectives.objective import Objective
from quatre_tf.objectives.opposite_queries import opposite_query_norms
from quatre_tf.objectives.regularizers import weighted_norms
from quatre_tf.objectives.relation_prediction import predict_relations
from quatre_tf.sparse_rows import add_in_place, sum_duplicates

# Among the dropouts of a step; those before are ConvE's.
_QUERY_DROPOUT = 3


class QueryBatch(NamedTuple):
    """Queries with their targets.

    Attributes:
        entities: `[batch]` int32, the entity given.
        relations: `[batch]` int32: r asks for the tails of relation r, `num_relations + r` for its
            heads.
        counts: `[batch]` int32, how many targets each query has, at least 1.
        rows: `[num_targets]` int32, the query of each target.
        targets: `[num_targets]` int32 entities, distinct within a query.
        seed: `[2]` int64, of the random numbers of the step; None where it needs none.
        candidates: `[num_sampled]` int32, distinct entities that all queries are ranked among; None
            for all entities.
        hits: `[num_hits, 2]` int32: (query, place) of the targets that are among the candidates.
    """

    entities: tf.Tensor
    relations: tf.Tensor
    counts: tf.Tensor
    rows: tf.Tensor
    targets: tf.Tensor
    seed: tf.Tensor | None = None
    candidates: tf.Tensor | None = None
    hits: tf.Tensor | None = None


class SoftmaxOptions(NamedTuple):
    """Weights and precision of the softmax objectives.

    Attributes:
        n3: Weight of the N3 regularizer of each triple: of its entities and, where scores are
            multilinear, of its folded relation.
        dura: Weight of the DURA regularizer of each triple, without queries from the target.
        opposite_dura: Weight of these queries in DURA.
        query_dropout: The share of the floats of queries that is set to zero before they are
            scored. Regularizers measure whole queries.
        relation_prediction: Weight of the auxiliary task of Chen et al. (AKBC 2021): to predict the
            relation from both entities. 0 leaves it out.
        compute_dtype: Of the matrix products of dot-product scores: `tf.float32` or `tf.bfloat16`.
    """

    n3: float = 0.0
    dura: float = 0.0
    opposite_dura: float = 0.0
    query_dropout: float = 0.0
    relation_prediction: float = 0.0
    compute_dtype: tf.DType = tf.float32


class Ranking(NamedTuple):
    """A softmax over candidates with the regularizer of the targets, and the gradient of both.

    Attributes:
        loss: Scalar.
        regularization: Scalar, the weighted regularizers of the targets.
        query_gradient: `[batch, width]`.
        contributions: Pairs of entity ids `[k]` and gradient rows `[k, width]`.
        table_gradient: `[num_entities, width]`, or None where the contributions are all.
    """

    loss: tf.Tensor
    regularization: tf.Tensor
    query_gradient: tf.Tensor
    contributions: list[tuple[tf.Tensor, tf.Tensor]]
    table_gradient: tf.Tensor | None


def query_objective(
    model: KGEModel,
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
        rows_of: Returns the entity rows `[k, width]` of ids `[k]`.
        rank: Returns the ranking for queries `[batch, width]` and their weights `[batch]`:
            `scale * counts`.
    """
    function = model.score_function
    weights = scale * tf.cast(batch.counts, tf.float32)
    relations = _relations_in_use(model, batch.relations, options)
    with tf.GradientTape() as tape:
        relation_rows = function.lookup(relations.ids)
        tape.watch(relation_rows)
        folded = function.fold(relation_rows)
    given = rows_of(batch.entities)
    queries = compiled_queries.queries(function, given, folded, relations.index, relations.is_head)
    queries, encoder_gradients = function.encode_in_training(queries, batch.seed)
    # Dropout is linear: the gradient loses the same floats.
    drop = functools.partial(
        dropout, rate=options.query_dropout, seed=batch.seed, place=_QUERY_DROPOUT
    )
    ranking = rank(drop(queries), weights)

    # N3 measures entities, and relations where they are factors of the score: it would shrink the
    # matrices of a distance to zero. DURA keeps a query and its answer close by the norms of entity
    # and query.
    components, squared = function.entity_components, options.dura * weights
    regularization, given_norms = _compiled_norms(given, components, options.n3 * weights, squared)
    upstream = drop(ranking.query_gradient)
    if options.dura:
        value, gradient = _compiled_norms(queries, 1, tf.zeros_like(weights), squared)
        regularization, upstream = regularization + value, upstream + gradient
    upstream, dense_gradients = encoder_gradients(upstream)
    given_gradient, folded_gradient = compiled_queries.query_gradients(
        function, given, folded, relations.index, relations.is_head, upstream
    )
    contributions = [*ranking.contributions, (batch.entities, given_gradient + given_norms)]
    if options.n3 and function.multilinear:
        of_relations = tf.math.unsorted_segment_sum(weights, relations.index, tf.shape(folded)[0])
        value, gradient = weighted_norms(folded, components, options.n3 * of_relations, 0.0)
        regularization, folded_gradient = regularization + value, folded_gradient + gradient
    triples = batch.rows, relations.index, relations.is_head, batch.targets
    if options.opposite_dura:
        value, of_targets, gradient = opposite_query_norms(
            function, folded, rows_of, triples, options.opposite_dura * scale
        )
        contributions.append((batch.targets, of_targets))
        regularization, folded_gradient = regularization + value, folded_gradient + gradient
    loss = ranking.loss
    if options.relation_prediction:
        value, found, gradient = predict_relations(
            function,
            batch.entities,
            (given, folded),
            rows_of,
            triples,
            options.relation_prediction * scale,
            options.compute_dtype,
        )
        contributions += found
        loss, folded_gradient = loss + value, folded_gradient + gradient
    relation_gradients = tape.gradient(
        folded,
        relation_rows,
        output_gradients=folded_gradient,
        # A score function may leave a table out of `fold`.
        unconnected_gradients=tf.UnconnectedGradients.ZERO,
    )
    return Objective(
        loss=loss,
        regularization=regularization + ranking.regularization,
        gradients=[
            _add_up(ranking.table_gradient, contributions),
            *(tf.IndexedSlices(gradient, relations.ids) for gradient in relation_gradients),
            *dense_gradients,
        ],
    )


class _Relations(NamedTuple):
    ids: tf.Tensor  # [k], distinct: the rows of the relation tables that are folded
    index: tf.Tensor  # [batch], the place of each query's relation among them
    is_head: tf.Tensor | None  # [batch] bool, in a model without reciprocal relations


def _relations_in_use(model: KGEModel, relations: tf.Tensor, options: SoftmaxOptions) -> _Relations:
    """Folding takes time per relation, and FB15k has 2 x 1,345: a step folds only its batch's.

    Relation prediction needs all.
    """
    is_head = None
    if not model.reciprocal:
        is_head, relations = relations >= model.num_relations, relations % model.num_relations
    if options.relation_prediction:
        return _Relations(tf.range(model.score_function.num_relations), relations, is_head)
    ids, index = tf.unique(relations)
    return _Relations(ids, index, is_head)


def _add_up(
    table: tf.Tensor | None, contributions: list[tuple[tf.Tensor, tf.Tensor]]
) -> tf.Tensor | tf.IndexedSlices:
    columns = zip(*contributions, strict=True)
    ids, rows = (tf.concat(column, axis=0) for column in columns)
    if table is None:
        return sum_duplicates(tf.IndexedSlices(rows, ids))
    # Nothing else reads the table.
    return add_in_place(table, ids, rows)


_compiled_norms = tf.function(weighted_norms, jit_compile=True, autograph=False)
