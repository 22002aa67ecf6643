"""The 1-vs-all objective and its gradient against plain NumPy."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf

from quatre_tf import VARIANTS, KGEModel, QuatRE
from quatre_tf.layers.relation_rotations import RelationRotations
from quatre_tf.objectives import candidate_softmax, query_objective
from quatre_tf.objectives.candidate_softmax import candidate_softmax_objective
from quatre_tf.objectives.query_objective import QueryBatch, SoftmaxOptions
from quatre_tf.quaternion import hamilton_product
from tests import reference
from tests.batches import dense_gradients

ENTITIES, RELATIONS, DIM = 8, 2, 3


def make(**kwargs):
    # Moduli around 1: normalizing tiny ones would blow up the rounding of float32.
    initializer = keras.initializers.RandomNormal(stddev=0.5, seed=4)
    return QuatRE(ENTITIES, RELATIONS, DIM, embeddings_initializer=initializer, **kwargs)


def make_batch(rng, size=11):
    """Queries that share entities and relations, with 1 to 6 targets."""
    counts = rng.integers(1, 7, size)
    targets = [rng.choice(ENTITIES, count, replace=False) for count in counts]
    draw = [rng.integers(0, bound, size) for bound in (ENTITIES, 2 * RELATIONS)]
    columns = [*draw, counts, np.repeat(np.arange(size), counts), np.concatenate(targets)]
    return QueryBatch(*(tf.constant(column, tf.int32) for column in columns))


def check(objective, model, batch, options, num_targets, candidates=None, kept=None):
    """Compares an objective with the reference's, and its gradient with finite differences."""
    is_target = np.zeros([len(batch.entities), ENTITIES], bool)
    is_target[batch.rows.numpy(), batch.targets.numpy()] = True
    plain = functools.partial(
        reference.softmax,
        entities=batch.entities.numpy(),
        relations=batch.relations.numpy(),
        is_target=is_target,
        num_targets=num_targets,
        normalize_relations=model.normalize_relations,
        candidates=candidates,
        n3=options.n3,
        dura=options.dura,
        opposite_dura=options.opposite_dura,
        relation_prediction=options.relation_prediction,
        kept=kept,
    )
    tables = {name: table.astype(np.float64) for name, table in model.tables().items()}
    loss, regularization = plain(tables)
    np.testing.assert_allclose(objective.loss, loss, rtol=1e-6)
    np.testing.assert_allclose(objective.regularization, regularization, rtol=1e-5, atol=1e-12)
    expected = reference.central_differences(plain, tables)
    for ours, wanted in zip(dense_gradients(objective, model), expected.values(), strict=True):
        # Normalized relations: float32 loses digits where the radial part of the gradient cancels.
        atol = 1e-4 * np.abs(wanted).max() + 1e-8
        np.testing.assert_allclose(ours, wanted, rtol=1e-4, atol=atol)


def dropping(batch, rng, monkeypatch):
    """The batch with the seed of a dropout, and the factors that this has for the queries."""
    kept = rng.choice([0.0, 2.0], [len(batch.entities), 4 * DIM]).astype(np.float32)

    def drop(values, rate, seed, place):
        assert (rate, seed) == (DROPOUT.query_dropout, 7)
        return values * kept

    monkeypatch.setattr(query_objective, "dropout", drop)
    return batch._replace(seed=7), kept


DROPOUT = SoftmaxOptions(n3=0.1, dura=0.2, query_dropout=0.5, relation_prediction=0.5)
OPTIONS = [
    SoftmaxOptions(),
    SoftmaxOptions(n3=0.3),
    SoftmaxOptions(dura=0.2),
    SoftmaxOptions(n3=0.1, dura=0.2, opposite_dura=0.3, relation_prediction=0.5),
]
MODELS = [
    {"reciprocal": reciprocal, "normalize_relations": normalize}
    for reciprocal in (True, False)
    for normalize in (True, False)
]
CASES = [(model, options) for model in MODELS for options in OPTIONS]
CASES += [(MODELS[1] | {"variant": name}, OPTIONS[-1]) for name in VARIANTS if name != "quatre"]


@pytest.mark.parametrize(("settings", "options"), CASES)
def test_value_and_gradient(rng, settings, options):
    model, batch = make(**settings), make_batch(rng)
    objective = candidate_softmax_objective(model, batch, options, num_targets=30.0)
    check(objective, model, batch, options, 30.0)


@pytest.mark.parametrize("reciprocal", [True, False])
def test_dropped_floats_of_queries_are_not_scored(rng, monkeypatch, reciprocal):
    model, batch = make(reciprocal=reciprocal, normalize_relations=False), make_batch(rng)
    batch, kept = dropping(batch, rng, monkeypatch)
    objective = candidate_softmax_objective(model, batch, DROPOUT, num_targets=30.0)
    check(objective, model, batch, DROPOUT, 30.0, kept=kept)


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
    compiled = (query_objective._compiled_norms, candidate_softmax._with_regularizers)
    counts = []
    for weight in (0.1, 0.2, 0.3):
        options = SoftmaxOptions(n3=weight, dura=2 * weight)
        candidate_softmax_objective(model, batch, options, num_targets=30.0)
        counts.append([function.experimental_get_tracing_count() for function in compiled])
    assert counts[0] == counts[1] == counts[2]


class Swapped(RelationRotations):
    """Folds v_r on the left of the head rotation, and leaves the tail rotation out."""

    def fold(self, rows):
        first, second, _ = (tf.reshape(row, [-1, 4, DIM]) for row in rows)
        return tf.reshape(hamilton_product(first, second), [-1, 4 * DIM])


def test_fold_of_a_subclass_is_scored_and_trained(rng):
    layer = Swapped(2 * RELATIONS, DIM, embeddings_initializer="random_normal")
    initializer = keras.initializers.RandomNormal(stddev=0.5, seed=4)
    model = KGEModel(ENTITIES, RELATIONS, DIM, layer, True, initializer)
    batch = make_batch(rng)
    objective = candidate_softmax_objective(model, batch, SoftmaxOptions(), num_targets=9.0)

    rows = batch.rows.numpy()

    def scores(tables, given, relations):
        entities, first, second, _ = map(reference.split, tables.values())
        turned = reference.hamilton(first, second)[relations]
        return np.einsum("bxn,exn->be", reference.hamilton(entities[given], turned), entities)

    def plain(tables):
        found = scores(tables, batch.entities.numpy()[rows], batch.relations.numpy()[rows])
        at_targets = found[np.arange(len(rows)), batch.targets.numpy()]
        return [np.sum(np.log(np.exp(found).sum(axis=1)) - at_targets) / 9.0]

    tables = {name: table.astype(np.float64) for name, table in model.tables().items()}
    asked = [3, 5], [0, 1]
    np.testing.assert_allclose(model.score_tails(*asked), scores(tables, *asked), 1e-4, 1e-6)
    np.testing.assert_allclose(objective.loss, plain(tables)[0], rtol=1e-5)
    expected = reference.central_differences(plain, tables).values()
    for found, wanted in zip(dense_gradients(objective, model), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)
