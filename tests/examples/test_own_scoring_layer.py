import keras
import numpy as np
import pytest
import tensorflow as tf

from examples.own_scoring_layer import ComplEx, train
from quatre_tf import FilteredRanking, QuatRE

ENTITIES, RELATIONS, DIM = 9, 3, 4


@pytest.fixture
def model():
    layer = ComplEx(RELATIONS, DIM)
    return QuatRE(ENTITIES, RELATIONS, DIM, layer, embeddings_initializer="random_normal")


@pytest.fixture
def triples(rng):
    return rng.integers(0, [ENTITIES, RELATIONS, ENTITIES], [20, 3], np.int32)


def complex_rows(table):
    """[rows, 4n] -> [rows, 2n] complex: the first half are the real parts."""
    real, imaginary = np.split(table.numpy().astype(np.float64), 2, axis=1)
    return real + 1j * imaginary


def complex_scores(model, heads, relations, tails):
    """Trouillon et al., equation 9, in complex numbers."""
    entities = complex_rows(model.entities.embeddings)
    factors = complex_rows(model.relations.table.embeddings)
    return np.real(np.sum(entities[heads] * factors[relations] * np.conj(entities[tails]), -1))


def test_every_scoring_path_has_the_scores_of_the_paper(model, triples):
    heads, relations, tails = triples.T
    everyone = np.arange(ENTITIES)[np.newaxis]
    of_tails = complex_scores(model, heads[:, None], relations[:, None], everyone)
    of_heads = complex_scores(model, everyone, relations[:, None], tails[:, None])
    tolerance = {"rtol": 1e-4, "atol": 1e-8}
    np.testing.assert_allclose(
        model(triples), complex_scores(model, heads, relations, tails), **tolerance
    )
    np.testing.assert_allclose(model.score_tails(heads, relations), of_tails, **tolerance)
    np.testing.assert_allclose(model.score_heads(relations, tails), of_heads, **tolerance)


def test_saved_and_loaded(tmp_path, model, triples):
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert isinstance(loaded.relations, ComplEx)
    assert len(loaded.weights) == 2
    np.testing.assert_array_equal(loaded(triples), model(triples))
    ranking = FilteredRanking(triples, triples)
    np.testing.assert_array_equal(ranking.ranks(loaded), ranking.ranks(model))


def test_it_has_no_rotations(model):
    with pytest.raises(TypeError, match=r"Only RelationRotations have rotations.*ComplEx"):
        model.query_rotations()


def test_a_layer_that_makes_no_queries_is_refused():
    with pytest.raises(TypeError, match=r"it has no tail_queries.*of type Dense"):
        QuatRE(ENTITIES, RELATIONS, DIM, keras.layers.Dense(3))


def test_mixed_precision_leaves_its_scores_in_float32(triples):
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        model = QuatRE(ENTITIES, RELATIONS, DIM, ComplEx(RELATIONS, DIM))
        assert model(triples).dtype == tf.bfloat16
        assert model.score_tails(*triples.T[:2]).dtype == tf.float32
    finally:
        keras.config.set_dtype_policy("float32")


def test_it_learns_countries():
    """Ranking candidates by frequency alone reaches 0.125 (test_learning.py)."""
    assert train(epochs=2, steps_per_epoch=50)["mrr"] > 0.3
