import keras
import numpy as np
import pytest
import tensorflow as tf

from examples.own_score_function import SimplE, train
from quatre_tf import FilteredRanking, KGEModel

ENTITIES, RELATIONS, DIM = 9, 3, 4


@pytest.fixture
def model():
    layer = SimplE(RELATIONS, DIM, embeddings_initializer="random_normal")
    return KGEModel(ENTITIES, RELATIONS, DIM, layer, embeddings_initializer="random_normal")


@pytest.fixture
def triples(rng):
    return rng.integers(0, [ENTITIES, RELATIONS, ENTITIES], [20, 3], np.int32)


def expected_scores(model, heads, relations, tails):
    """Kazemi and Poole, equation 1, in float64."""
    entities, relation_rows = (table.astype(np.float64) for table in model.tables().values())
    (h_head, h_tail), (t_head, t_tail), (r, inverse) = (
        np.split(rows, 2, axis=-1)
        for rows in (entities[heads], entities[tails], relation_rows[relations])
    )
    return ((h_head * r * t_tail).sum(-1) + (t_head * inverse * h_tail).sum(-1)) / 2


def test_every_scoring_path_has_the_scores_of_the_paper(model, triples):
    heads, relations, tails = triples.T
    everyone = np.arange(ENTITIES)[np.newaxis]
    of_tails = expected_scores(model, heads[:, None], relations[:, None], everyone)
    of_heads = expected_scores(model, everyone, relations[:, None], tails[:, None])
    tolerance = {"rtol": 1e-4, "atol": 1e-8}
    np.testing.assert_allclose(
        model(triples), expected_scores(model, heads, relations, tails), **tolerance
    )
    np.testing.assert_allclose(model.score_tails(heads, relations), of_tails, **tolerance)
    np.testing.assert_allclose(model.score_heads(relations, tails), of_heads, **tolerance)


def test_saved_and_loaded(tmp_path, model, triples):
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert isinstance(loaded.score_function, SimplE)
    np.testing.assert_array_equal(loaded(triples), model(triples))
    ranking = FilteredRanking(triples, triples)
    np.testing.assert_array_equal(ranking.ranks(loaded), ranking.ranks(model))


def test_mixed_precision_leaves_its_scores_in_float32(triples):
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        model = KGEModel(ENTITIES, RELATIONS, DIM, SimplE(RELATIONS, DIM))
        assert model(triples).dtype == tf.bfloat16
        assert model.score_tails(*triples.T[:2]).dtype == tf.float32
    finally:
        keras.config.set_dtype_policy("float32")


def test_it_learns_countries():
    """Ranking candidates by frequency alone reaches 0.125 (test_learning.py)."""
    assert train(epochs=2, steps_per_epoch=50)["mrr"] > 0.3


def test_layers_that_do_not_fit_are_refused():
    with pytest.raises(TypeError, match=r"must be a name or a ScoreFunction layer.*Dense"):
        KGEModel(ENTITIES, RELATIONS, DIM, keras.layers.Dense(3))
    with pytest.raises(ValueError, match="must have num_relations=6 and embedding_dim=4"):
        KGEModel(ENTITIES, RELATIONS, DIM, SimplE(RELATIONS, DIM), reciprocal=True)
