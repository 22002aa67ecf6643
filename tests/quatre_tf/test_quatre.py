import numpy as np
import pytest
import tensorflow as tf

from quatre_tf import KGEModel, QuatRE, RelationRotations
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


def test_ids_out_of_range_are_named():
    model = make()
    with pytest.raises(ValueError, match=r"`heads` must be ids in 0 \.\.\. 12\. Received: 13\."):
        model.score_tails([0, 13], [0, 0])
    with pytest.raises(ValueError, match=r"`relations` must be ids in 0 \.\.\. 3\. Received: -1\."):
        model.score_heads(tf.constant([-1]), tf.constant([0]))
    with pytest.raises(ValueError, match=r"`tails` must be ids in 0 \.\.\. 12\. Received: 99\."):
        model.score_triples([0], [0], [99])


@pytest.mark.parametrize(
    ("variant", "relation_tables"),
    [("quatre", 3), ("quate", 1), ("quatre_head", 2), ("quatre_tail", 2)],
)
def test_number_of_parameters_is_the_paper_s(variant, relation_tables):
    expected = ENTITIES * 4 * DIM + relation_tables * RELATIONS * 4 * DIM
    assert make(variant).count_params() == expected


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
