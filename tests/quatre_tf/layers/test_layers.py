import keras
import numpy as np
import pytest
import tensorflow as tf

from quatre_tf import KGEModel, QuaternionEmbedding, RelationRotations
from quatre_tf.layers.bilinear import DistMult


def test_embedding_blocks_are_real_i_j_k():
    layer = QuaternionEmbedding(2, 3)
    layer.build()
    layer.embeddings.assign(np.arange(24).reshape(2, 12))
    expected = np.arange(24).reshape(2, 4, 3)[[[1, 0], [1, 1]]]
    np.testing.assert_array_equal(layer(tf.constant([[1, 0], [1, 1]])), expected)
    assert layer.compute_output_shape((2, 2)) == expected.shape
    copy = QuaternionEmbedding.from_config(layer.get_config())
    assert copy.get_config() == layer.get_config()
    mixed = QuaternionEmbedding(2, 3, dtype=keras.DTypePolicy("mixed_bfloat16"))
    assert (mixed(tf.constant([1])).dtype, mixed.embeddings.dtype) == (tf.bfloat16, "float32")


def test_initialisation_is_the_reference_s_xavier_uniform():
    layer = QuaternionEmbedding(1000, 50)
    layer.build()
    bound = np.sqrt(6 / (1000 + 200))
    values = layer.embeddings.numpy()
    assert np.max(np.abs(values)) <= np.float32(bound)
    np.testing.assert_allclose(np.std(values), bound / np.sqrt(3), rtol=0.01)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: QuaternionEmbedding(0, 4), r"`num_embeddings` must be a positive integer.*0 \(of"),
        (lambda: QuaternionEmbedding(4, 2.5), r"embedding_dim=2.5 \(of type float\)"),
        (lambda: RelationRotations(3, 4, "rotate"), r"`variant` must be one of 'quatre'.*'rotate'"),
    ],
)
def test_bad_arguments_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_the_gradient_of_an_encoder_without_weights(rng):
    class Tripled(DistMult):
        def encode(self, queries, weights, seed=None):
            return 3.0 * queries, {}

    queries, upstream = tf.constant(rng.normal(size=[2, 4])), tf.constant(rng.normal(size=[2, 4]))
    encoded, gradients = Tripled(2, 4).encode_in_training(queries, None)
    of_queries, of_weights = gradients(upstream)
    np.testing.assert_allclose(encoded, 3.0 * queries)
    np.testing.assert_allclose(of_queries, 3.0 * upstream)
    assert of_weights == []


def test_ranking_of_heads_is_compiled_once():
    model = KGEModel(4, 2, 6, "conve", reciprocal=False)
    assert model.similarity("head") is model.similarity("head")
