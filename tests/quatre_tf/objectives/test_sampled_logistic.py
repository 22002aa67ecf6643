"""The closed-form gradient against automatic differentiation of the plain, unfolded form."""

import numpy as np
import pytest
import tensorflow as tf

from quatre_tf import VARIANTS, QuatRE
from quatre_tf.objectives.sampled_logistic import sampled_logistic_objective
from tests.batches import as_triples, random_batch


def plain_objective(tables, variant, triples, labels, l2):
    """Losses and L2 from [rows, 4n] lookups and four-component arithmetic, in float64."""

    def parts(rows):
        return tf.reshape(rows, [len(triples), 4, -1])

    def product(q, p):
        # p as a 4x4 real matrix acting on the components of q: another form than the library's.
        r, i, j, k = tf.unstack(p, axis=1)
        matrix = tf.stack(
            [
                tf.stack(row, 1)
                for row in ([r, -i, -j, -k], [i, r, k, -j], [j, -k, r, i], [k, j, -i, r])
            ],
            axis=1,
        )
        return tf.einsum("bxyn,byn->bxn", matrix, q)

    def unit(q):
        return q / tf.sqrt(tf.reduce_sum(q**2, axis=1, keepdims=True))

    heads, relations, tails = triples.T
    gathered = {"h": tf.gather(tables[0], heads), "t": tf.gather(tables[0], tails)}
    names = {"quatre": "r12", "quate": "r", "quatre_head": "r1", "quatre_tail": "r2"}[variant]
    for name, table in zip(names, tables[1:], strict=True):
        gathered[name] = tf.gather(table, relations)
    head, tail = parts(gathered["h"]), parts(gathered["t"])
    if "1" in gathered:
        head = product(head, unit(parts(gathered["1"])))
    if "2" in gathered:
        tail = product(tail, unit(parts(gathered["2"])))
    scores = tf.reduce_sum(product(head, unit(parts(gathered["r"]))) * tail, axis=[1, 2])
    loss = tf.reduce_mean(tf.math.softplus(-labels * scores))
    squares = [4 * tf.reduce_mean(rows**2) for rows in gathered.values()]
    return loss, l2 * tf.add_n(squares)


@pytest.mark.parametrize("l2", [0.0, 0.3])
@pytest.mark.parametrize("variant", VARIANTS)
def test_value_and_gradient(rng, step_made_of, variant, l2):
    model = QuatRE(17, 5, 6, variant=variant, embeddings_initializer="random_normal")
    batch = random_batch(rng, 17, 5, batch_size=12, num_negatives=4)
    compare_with_plain(model, batch, l2)


@pytest.mark.parametrize(
    ("dim", "batch_size", "num_negatives"), [(1, 1, 1), (19, 500, 3), (67, 40, 30)]
)
def test_sizes(rng, step_made_of, dim, batch_size, num_negatives):
    """One of everything, widths that are no multiple of a vector, work for several threads."""
    model = QuatRE(301, 5, dim, embeddings_initializer="random_normal")
    batch = random_batch(rng, 301, 5, batch_size=batch_size, num_negatives=num_negatives)
    compare_with_plain(model, batch, l2=0.1)


def compare_with_plain(model, batch, l2):
    num_triples = tf.size(batch.heads) + tf.size(batch.corrupted)
    objective = sampled_logistic_objective(model, batch, l2=l2, num_triples=num_triples)

    triples, labels = as_triples(batch)
    tables = [tf.cast(v.value, tf.float64) for v in model.trainable_variables]
    with tf.GradientTape() as tape:
        tape.watch(tables)
        loss, regularization = plain_objective(tables, model.variant, triples, labels, l2)
        total = loss + regularization
    np.testing.assert_allclose(objective.loss, loss, rtol=1e-6)
    np.testing.assert_allclose(objective.regularization, regularization, rtol=1e-5, atol=1e-12)
    for ours, expected in zip(objective.gradients, tape.gradient(total, tables), strict=True):
        assert len(np.unique(ours.indices)) == len(ours.indices)
        dense = np.zeros(expected.shape)
        dense[ours.indices.numpy()] = ours.values
        expected = tf.convert_to_tensor(expected).numpy()
        np.testing.assert_allclose(dense, expected, rtol=1e-4, atol=1e-8)


@pytest.mark.usefixtures("step_made_of")
def test_replicas_add_up_to_the_whole_batch(rng):
    model = QuatRE(9, 3, 4)
    batch = random_batch(rng, 9, 3, batch_size=7, num_negatives=2)
    whole = sampled_logistic_objective(model, batch, l2=0.1, num_triples=21)
    parts = [
        sampled_logistic_objective(
            model, type(batch)(*(x[rows] for x in batch)), l2=0.1, num_triples=21
        )
        for rows in (slice(0, 3), slice(3, 7))
    ]
    np.testing.assert_allclose(whole.loss, parts[0].loss + parts[1].loss, rtol=1e-6)
    np.testing.assert_allclose(
        whole.regularization, parts[0].regularization + parts[1].regularization, rtol=1e-6
    )


@pytest.mark.usefixtures("step_made_of")
def test_no_dense_pass_over_the_entity_table():
    """The graph of a step gathers and scatters rows; no op reads or makes the whole table."""
    num_entities = 12_345
    model = QuatRE(num_entities, 3, 4)
    signature = random_batch(np.random.default_rng(0), 99, 3, batch_size=6, num_negatives=2)

    @tf.function
    def step(batch):
        return sampled_logistic_objective(model, batch, l2=0.1, num_triples=18).gradients

    graph = step.get_concrete_function(signature).graph
    table_sized = [
        tensor.name
        for op in graph.get_operations()
        for tensor in op.outputs
        if tensor.shape.rank and tensor.shape[0] == num_entities
    ]
    assert table_sized == []


def test_reciprocal_relations_are_refused(rng):
    """Their rows would never be trained, and all heads asked for by them."""
    model = QuatRE(17, 5, 6, reciprocal=True)
    batch = random_batch(rng, 17, 5, batch_size=12, num_negatives=4)
    with pytest.raises(ValueError, match="expected a model with `reciprocal=False`"):
        sampled_logistic_objective(model, batch, l2=0.0, num_triples=60)
