import keras
import numpy as np
import pytest
import tensorflow as tf

from quatre_tf import VARIANTS, KGEModel, QuatRE, RelationRotations
from tests import reference

ENTITIES, RELATIONS, DIM = 13, 4, 6


@pytest.fixture
def triples(rng):
    columns = [rng.integers(0, bound, 20) for bound in (ENTITIES, RELATIONS, ENTITIES)]
    return np.stack(columns, axis=1).astype(np.int32)


def make(variant="quatre", **kwargs):
    return QuatRE(
        ENTITIES, RELATIONS, DIM, variant, embeddings_initializer="random_normal", **kwargs
    )


@pytest.mark.parametrize("variant", VARIANTS)
def test_folded_scores_equal_unfolded_reference(variant, triples):
    model = make(variant)
    np.testing.assert_allclose(
        model.score_triples(*triples.T),
        reference.model_scores(model, triples),
        rtol=1e-4,
        atol=1e-7,
    )


def test_ids_out_of_range_are_named():
    model = make()
    with pytest.raises(ValueError, match=r"`heads` must be ids in 0 \.\.\. 12\. Received: 13\."):
        model.score_tails([0, 13], [0, 0])
    with pytest.raises(ValueError, match=r"`relations` must be ids in 0 \.\.\. 3\. Received: -1\."):
        model.score_heads(tf.constant([-1]), tf.constant([0]))
    with pytest.raises(ValueError, match=r"`tails` must be ids in 0 \.\.\. 12\. Received: 99\."):
        model.score_triples([0], [0], [99])


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_scoring_path_agrees(variant, triples):
    model = make(variant)
    heads, relations, tails = triples.T
    scores = model.score_triples(heads, relations, tails).numpy()
    rows = np.arange(len(triples))
    tolerance = {"rtol": 1e-4, "atol": 1e-7}
    np.testing.assert_allclose(model(triples), scores, **tolerance)
    np.testing.assert_allclose(
        model.score_tails(heads, relations).numpy()[rows, tails], scores, **tolerance
    )
    np.testing.assert_allclose(
        model.score_heads(relations, tails).numpy()[rows, heads], scores, **tolerance
    )


def test_quate_is_quatre_with_unit_rotations(triples):
    """The paper's proposition: v_{r,1} = v_{r,2} = 1 gives QuatE."""
    quate, quatre = make("quate"), make("quatre")
    one = np.concatenate([np.ones((RELATIONS, DIM)), np.zeros((RELATIONS, 3 * DIM))], axis=1)
    quatre.assign_tables({**quate.tables(), "head_rotation": one, "tail_rotation": one})
    np.testing.assert_allclose(
        quatre.score_triples(*triples.T), quate.score_triples(*triples.T), rtol=1e-5, atol=1e-8
    )


@pytest.mark.parametrize(
    ("variant", "relation_tables"),
    [("quatre", 3), ("quate", 1), ("quatre_head", 2), ("quatre_tail", 2)],
)
def test_number_of_parameters_is_the_paper_s(variant, relation_tables):
    expected = ENTITIES * 4 * DIM + relation_tables * RELATIONS * 4 * DIM
    assert make(variant).count_params() == expected


def test_saved_model_file_round_trips(tmp_path, triples):
    model = make("quatre_tail")
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert loaded.variant == "quatre_tail"
    np.testing.assert_array_equal(loaded.score_triples(*triples.T), model.score_triples(*triples.T))


def test_mixed_precision_leaves_ranks_in_float32(triples):
    model = make(dtype=keras.DTypePolicy("mixed_bfloat16"))
    heads, relations, tails = triples.T
    assert model(triples).dtype == tf.bfloat16
    assert all(weight.dtype == "float32" for weight in model.weights)
    assert model.score_tails(heads, relations).dtype == tf.float32
    assert model.score_heads(relations, tails).dtype == tf.float32


def test_keras_fit_trains_it(triples):
    """The model is an ordinary Keras model: compile and fit work on (triples, labels)."""
    model = make()
    model.compile(optimizer="adam", loss="mse", jit_compile=False)
    labels = np.where(np.arange(len(triples)) % 2, 1.0, -1.0)
    first = model.evaluate(triples, labels, verbose=0)
    model.fit(triples, labels, epochs=60, verbose=0)
    assert model.evaluate(triples, labels, verbose=0) < 0.9 * first


class FreeRotations(RelationRotations):
    """w_r is the relation's row as it is."""

    def fold(self, rows):
        return rows[0]


def test_rotations_folded_in_another_way_take_the_place_of_the_paper_s(triples):
    model = KGEModel(ENTITIES, RELATIONS, DIM, FreeRotations(RELATIONS, DIM, "quate"))
    rotations = reference.split(model.tables()["relation"])
    entities = reference.split(model.entities.embeddings.numpy())
    h, r, t = triples.T
    expected = np.sum(reference.hamilton(entities[h], rotations[r]) * entities[t], axis=(1, 2))
    np.testing.assert_allclose(model(triples), expected, rtol=1e-4, atol=1e-7)
