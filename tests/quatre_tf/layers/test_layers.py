import numpy as np
import pytest
import tensorflow as tf

from quatre_tf import VARIANTS, QuaternionEmbedding, RelationRotations
from tests import reference
from tests.layer_contract import run_layer_test

IDS = tf.constant([2, 0, 2])
TABLES = {"quatre": 3, "quate": 1, "quatre_head": 2, "quatre_tail": 2}


def test_embedding_contract():
    run_layer_test(
        lambda **kwargs: QuaternionEmbedding(5, 6, **kwargs), IDS, (3, 4, 6), expected_weights=1
    )


@pytest.mark.parametrize("variant", VARIANTS)
def test_rotations_contract(variant):
    run_layer_test(
        lambda **kwargs: RelationRotations(5, 6, variant, **kwargs),
        IDS,
        (3, 24),
        expected_weights=TABLES[variant],
    )


def test_embedding_blocks_are_real_i_j_k():
    layer = QuaternionEmbedding(2, 3)
    layer.build()
    layer.embeddings.assign(np.arange(24).reshape(2, 12))
    np.testing.assert_array_equal(layer(tf.constant([1]))[0], np.arange(12, 24).reshape(4, 3))


def test_embedding_takes_ids_of_any_rank():
    layer = QuaternionEmbedding(5, 2)
    ids = tf.constant([[0, 1, 2], [3, 4, 0]])
    assert layer(ids).shape == (2, 3, 4, 2)
    np.testing.assert_array_equal(layer(ids)[1, 1], layer(tf.constant(4)))


def test_initialisation_is_the_reference_s_xavier_uniform():
    layer = QuaternionEmbedding(1000, 50)
    layer.build()
    bound = np.sqrt(6 / (1000 + 200))
    values = layer.embeddings.numpy()
    assert np.max(np.abs(values)) <= np.float32(bound)
    np.testing.assert_allclose(np.std(values), bound / np.sqrt(3), rtol=0.01)


def test_tables_of_a_layer_start_different():
    layer = RelationRotations(4, 3)
    layer.build()
    first, second, third = layer.get_weights()
    assert not np.allclose(first, second)
    assert not np.allclose(second, third)


@pytest.mark.parametrize("variant", VARIANTS)
def test_folded_rotation_is_the_product_of_units(variant):
    layer = RelationRotations(3, 5, variant, embeddings_initializer="random_normal")
    layer.build()
    folded = reference.split(layer.folded().numpy())
    unit = {
        name: reference.unit(reference.split(table.numpy())) for name, table in layer.tables.items()
    }
    expected = unit["relation"]
    if "head_rotation" in unit:
        expected = reference.hamilton(unit["head_rotation"], expected)
    if "tail_rotation" in unit:
        signs = np.array([1, -1, -1, -1])[:, np.newaxis]
        expected = reference.hamilton(expected, unit["tail_rotation"] * signs)
    np.testing.assert_allclose(folded, expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(np.sum(folded**2, axis=1), 1.0, rtol=1e-5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: QuaternionEmbedding(0, 4), r"`num_embeddings` must be a positive integer.*0 \(of"),
        (
            lambda: QuaternionEmbedding(4, 2.5),
            r"`embedding_dim` must be .*embedding_dim=2.5 \(of type float\)",
        ),
        (lambda: RelationRotations(3, 4, "rotate"), r"`variant` must be one of 'quatre'.*'rotate'"),
    ],
)
def test_bad_arguments_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
