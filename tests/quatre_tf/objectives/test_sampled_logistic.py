"""The paper's objective and its gradient against plain NumPy, in both of its forms."""

import functools

import numpy as np
import pytest

from quatre_tf import VARIANTS, QuatRE
from quatre_tf.objectives.sampled_logistic import sampled_logistic_objective
from tests import reference
from tests.batches import as_triples, dense_gradients, random_batch


def plain_objective(model, batch, l2):
    triples, labels = as_triples(batch)
    tables = {name: table.astype(np.float64) for name, table in model.tables().items()}
    return tables, functools.partial(
        reference.sampled_logistic, triples=triples, labels=labels, l2=l2, normalize_relations=True
    )


@pytest.mark.parametrize("l2", [0.0, 0.3])
@pytest.mark.parametrize("variant", VARIANTS)
def test_value_and_gradient(rng, step_made_of, variant, l2):
    model = QuatRE(7, 3, 3, variant=variant, embeddings_initializer="random_normal")
    batch = random_batch(rng, 7, 3, batch_size=12, num_negatives=4)
    objective = sampled_logistic_objective(model, batch, l2=l2, num_triples=60)
    tables, plain = plain_objective(model, batch, l2)
    loss, regularization = plain(tables)
    np.testing.assert_allclose(objective.loss, loss, rtol=1e-6)
    np.testing.assert_allclose(objective.regularization, regularization, rtol=1e-5, atol=1e-12)
    expected = reference.central_differences(plain, tables)
    for name, gradient in zip(tables, dense_gradients(objective, model), strict=True):
        np.testing.assert_allclose(gradient, expected[name], rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize(
    ("dim", "batch_size", "num_negatives"), [(1, 1, 1), (19, 500, 3), (67, 40, 7)]
)
def test_sizes(rng, step_made_of, dim, batch_size, num_negatives):
    """One of everything, widths that are no multiple of a vector, work for several threads.

    The gradient is held against slopes along random directions, table by table.
    """
    model = QuatRE(301, 5, dim, embeddings_initializer="random_normal")
    batch = random_batch(rng, 301, 5, batch_size=batch_size, num_negatives=num_negatives)
    num_triples = batch_size * (1 + num_negatives)
    objective = sampled_logistic_objective(model, batch, l2=0.1, num_triples=num_triples)
    tables, plain = plain_objective(model, batch, l2=0.1)
    np.testing.assert_allclose([objective.loss, objective.regularization], plain(tables), 1e-5)
    for name, gradient in zip(tables, dense_gradients(objective, model), strict=True):
        for _ in range(2):
            direction = rng.normal(size=gradient.shape)
            ends = [{**tables, name: tables[name] + step * direction} for step in (1e-5, -1e-5)]
            slope = (sum(plain(ends[0])) - sum(plain(ends[1]))) / 2e-5
            # Each product rounds; a wrong gradient is off by about its norm.
            bound = 1e-6 * np.linalg.norm(gradient) * np.linalg.norm(direction)
            assert np.sum(gradient * direction) == pytest.approx(slope, rel=1e-4, abs=bound)


def test_reciprocal_relations_are_refused(rng):
    """Their rows would never be trained, and all heads asked for by them."""
    model = QuatRE(17, 5, 6, reciprocal=True)
    batch = random_batch(rng, 17, 5, batch_size=12, num_negatives=4)
    with pytest.raises(ValueError, match="expected a model with `reciprocal=False`"):
        sampled_logistic_objective(model, batch, l2=0.0, num_triples=60)
