"""The closed-form 1-vs-all gradient against automatic differentiation of the plain form."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from quatre_tf import VARIANTS, KGEModel, QuatRE
from quatre_tf.layers.relation_rotations import RelationRotations
from quatre_tf.objectives import candidate_softmax, query_objective
from quatre_tf.objectives.candidate_softmax import candidate_softmax_objective
from quatre_tf.objectives.query_objective import QueryBatch, SoftmaxOptions

ENTITIES, RELATIONS, DIM = 17, 3, 5


def make(**kwargs):
    # Moduli around 1: normalising tiny ones would blow up the rounding of float32.
    initializer = keras.initializers.RandomNormal(stddev=0.5, seed=4)
    return QuatRE(ENTITIES, RELATIONS, DIM, embeddings_initializer=initializer, **kwargs)


def make_batch(rng, size=11):
    """Queries that share entities and relations, with 1 to 6 targets."""
    counts = rng.integers(1, 7, size)
    targets = [rng.choice(ENTITIES, count, replace=False) for count in counts]
    draw = [rng.integers(0, bound, size) for bound in (ENTITIES, 2 * RELATIONS)]
    columns = [*draw, counts, np.repeat(np.arange(size), counts), np.concatenate(targets)]
    return QueryBatch(*(tf.constant(column, tf.int32) for column in columns))


def dense_gradients(objective, model):
    """Every gradient in the shape of its table; no row comes twice."""
    for gradient, table in zip(objective.gradients, model.trainable_variables, strict=True):
        if isinstance(gradient, tf.IndexedSlices):
            assert len(np.unique(gradient.indices)) == len(gradient.indices)
            whole = np.zeros(table.shape, gradient.values.dtype.as_numpy_dtype)
            whole[gradient.indices.numpy()] = gradient.values
            gradient = whole
        yield np.asarray(gradient)


def product(q, p):
    """Hamilton product as matrices of p: another form than the library's."""
    r, i, j, k = tf.unstack(p, axis=1)
    rows = ([r, -i, -j, -k], [i, r, k, -j], [j, -k, r, i], [k, j, -i, r])
    matrix = tf.stack([tf.stack(row, 1) for row in rows], axis=1)
    return tf.einsum("bxyn,byn->bxn", matrix, q)


def unit(q):
    return q / tf.sqrt(tf.reduce_sum(q**2, axis=1, keepdims=True))


def conj(q):
    return q * np.array([1.0, -1.0, -1.0, -1.0])[:, np.newaxis]


def plain_rotations(tables, model):
    """w of every question [2 * RELATIONS, 4, DIM], from the tables in float64."""
    parts = [tf.reshape(table, [-1, 4, DIM]) for table in tables]
    rotations = unit(parts[0]) if model.normalize_relations else parts[0]
    if model.variant in ("quatre", "quatre_head"):
        rotations = product(unit(parts[1]), rotations)
    if model.variant in ("quatre", "quatre_tail"):
        rotations = product(rotations, conj(unit(parts[-1])))
    return rotations if model.reciprocal else tf.concat([rotations, conj(rotations)], axis=0)


def plain_objective(tables, model, batch, options, num_targets):
    """One row for each triple, and nothing shared."""
    entities, asked, _, rows, targets = (column.numpy() for column in batch)
    table, rotations = tf.reshape(tables[0], [-1, 4, DIM]), plain_rotations(tables[1:], model)
    given, turned = tf.gather(table, entities[rows]), tf.gather(rotations, asked[rows])
    answer = tf.gather(table, targets)
    scores = tf.einsum("bxn,exn->be", product(given, turned), table)
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(targets, scores)
    loss = tf.reduce_sum(loss) / num_targets

    # A model without reciprocal relations predicts r from (h, t), whichever side is asked for.
    head, tail, wanted, choices = given, answer, asked[rows], rotations
    if not model.reciprocal:
        is_head = (asked[rows] >= RELATIONS)[:, np.newaxis, np.newaxis]
        head, tail = tf.where(is_head, answer, given), tf.where(is_head, given, answer)
        wanted, choices = asked[rows] % RELATIONS, rotations[:RELATIONS]
    each = [product(head, tf.broadcast_to(w, tf.shape(head))) for w in choices]
    scores = tf.stack([tf.einsum("bxn,bxn->b", found, tail) for found in each], axis=1)
    entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(wanted, scores)
    loss += options.relation_prediction * tf.reduce_sum(entropy) / num_targets

    cubes = [tf.reduce_sum(q**2, axis=1) ** 1.5 for q in (given, turned, answer)]
    regularization = options.n3 * tf.add_n([tf.reduce_sum(cube) for cube in cubes])
    squares = [tf.reduce_sum(q**2) for q in (given, answer, product(given, turned))]
    return loss, (regularization + options.dura * tf.add_n(squares)) / num_targets


OPTIONS = [
    SoftmaxOptions(),
    SoftmaxOptions(n3=0.3),
    SoftmaxOptions(dura=0.2),
    SoftmaxOptions(n3=0.1, dura=0.2, relation_prediction=0.5),
    SoftmaxOptions(n3=0.1, relation_prediction=0.7),
]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("normalize_relations", [True, False])
@pytest.mark.parametrize("reciprocal", [True, False])
def test_value_and_gradient(rng, options, normalize_relations, reciprocal):
    check(make(reciprocal=reciprocal, normalize_relations=normalize_relations), rng, options)


@pytest.mark.parametrize("variant", [v for v in VARIANTS if v != "quatre"])
def test_variants(rng, variant):
    check(make(variant=variant, reciprocal=True, normalize_relations=False), rng, OPTIONS[-1])


def check(model, rng, options):
    batch = make_batch(rng)
    objective = candidate_softmax_objective(model, batch, options, num_targets=30.0)
    tables = [tf.cast(v.value, tf.float64) for v in model.trainable_variables]
    with tf.GradientTape() as tape:
        tape.watch(tables)
        loss, regularization = plain_objective(tables, model, batch, options, 30.0)
        total = loss + regularization
    np.testing.assert_allclose(objective.loss, loss, rtol=1e-6)
    np.testing.assert_allclose(objective.regularization, regularization, rtol=1e-5, atol=1e-12)
    gradients = dense_gradients(objective, model)
    for ours, expected in zip(gradients, tape.gradient(total, tables), strict=True):
        expected = tf.convert_to_tensor(expected).numpy()
        # Normalised relations: float32 loses digits where the radial part of the gradient cancels.
        atol = 1e-4 * np.abs(expected).max() + 1e-12
        np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=atol)


def test_bfloat16_products_are_close_and_the_gradient_stays_float32(rng):
    model, batch = make(reciprocal=True, normalize_relations=False), make_batch(rng)
    options = SoftmaxOptions(n3=0.1, relation_prediction=0.7)
    exact = candidate_softmax_objective(model, batch, options, num_targets=30.0)
    options = options._replace(compute_dtype=tf.bfloat16)
    rounded = candidate_softmax_objective(model, batch, options, num_targets=30.0)
    np.testing.assert_allclose(rounded.loss, exact.loss, rtol=1e-3)
    assert float(rounded.regularization) == float(exact.regularization)
    pairs = [dense_gradients(objective, model) for objective in (rounded, exact)]
    for ours, expected in zip(*pairs, strict=True):
        assert ours.dtype == np.float32
        # Eight bits of mantissa in three factors of a sum.
        assert np.linalg.norm(ours - expected) < 0.02 * np.linalg.norm(expected)


def test_one_trace_serves_every_weight(rng):
    """A search trains with many in one process."""
    model, batch = make(reciprocal=True), make_batch(rng)
    compiled = (query_objective._regularize, candidate_softmax._with_regularizers)
    counts = []
    for weight in (0.1, 0.2, 0.3):
        options = SoftmaxOptions(n3=weight, dura=2 * weight)
        candidate_softmax_objective(model, batch, options, num_targets=30.0)
        counts.append([function.experimental_get_tracing_count() for function in compiled])
    assert counts[0] == counts[1] == counts[2]


def test_replicas_add_up_to_the_whole_batch(rng):
    model, batch = make(reciprocal=True), make_batch(rng)
    options = SoftmaxOptions(n3=0.1, relation_prediction=0.5)
    whole = candidate_softmax_objective(model, batch, options, num_targets=30.0)
    parts = []
    for first, last in ((0, 4), (4, 11)):
        inside = (batch.rows >= first) & (batch.rows < last)
        part = QueryBatch(
            *(column[first:last] for column in batch[:3]),
            rows=batch.rows[inside] - first,
            targets=batch.targets[inside],
        )
        parts.append(candidate_softmax_objective(model, part, options, num_targets=30.0))
    np.testing.assert_allclose(whole.loss, sum(part.loss for part in parts), rtol=1e-6)
    all_gradients = [dense_gradients(objective, model) for objective in (whole, *parts)]
    for total, *terms in zip(*all_gradients, strict=True):
        np.testing.assert_allclose(total, sum(terms), rtol=1e-4, atol=1e-7)


class Swapped(RelationRotations):
    """A fold of its own: v_r on the left of the head rotation, and no tail rotation."""

    def fold(self, rows):
        first, second, _ = (tf.reshape(row, [-1, 4, DIM]) for row in rows)
        return tf.reshape(product(first, second), [-1, 4 * DIM])


def test_fold_of_a_subclass_is_trained(rng):
    """Of its rotation tables, that which it leaves out has no gradient."""
    layer = Swapped(2 * RELATIONS, DIM, embeddings_initializer="random_normal")
    initializer = keras.initializers.RandomNormal(stddev=0.5, seed=4)
    model = KGEModel(ENTITIES, RELATIONS, DIM, layer, True, initializer)
    batch, options = make_batch(rng), SoftmaxOptions()
    objective = candidate_softmax_objective(model, batch, options, num_targets=9.0)
    tables = [tf.cast(v.value, tf.float64) for v in model.trainable_variables]
    with tf.GradientTape() as tape:
        tape.watch(tables)
        table, first, second = (tf.reshape(part, [-1, 4, DIM]) for part in tables[:3])
        rows, places = batch.rows.numpy(), batch.entities.numpy()
        turned = tf.gather(product(first, second), batch.relations.numpy()[rows])
        scores = tf.einsum("bxn,exn->be", product(tf.gather(table, places[rows]), turned), table)
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(batch.targets, scores)
        loss = tf.reduce_sum(loss) / 9.0
    expected = tape.gradient(loss, tables, unconnected_gradients="zero")
    np.testing.assert_allclose(objective.loss, loss, rtol=1e-5)
    for found, wanted in zip(dense_gradients(objective, model), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)
