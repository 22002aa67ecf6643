import pytest
import tensorflow as tf

from quatre_tf import QuatRE

ENTITIES, RELATIONS, DIM = 13, 4, 6


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


def test_inverse_relations_have_ids_that_tails_can_be_asked_by():
    model = make(reciprocal=True)
    heads = model.score_heads([1], [2])
    assert heads.shape == (1, ENTITIES)
    assert tf.reduce_all(heads == model.score_tails([2], [1 + RELATIONS]))
    tail_of_inverse = model.score_triples([2], [1 + RELATIONS], [5])
    assert float(tail_of_inverse[0]) == pytest.approx(float(heads[0, 5]), rel=1e-5)
    with pytest.raises(ValueError, match=r"`relations` must be ids in 0 \.\.\. 7\. Received: 8\."):
        model.score_triples([2], [2 * RELATIONS], [5])
    with pytest.raises(ValueError, match=r"`relations` must be ids in 0 \.\.\. 3\. Received: 4\."):
        model.score_heads([RELATIONS], [2])


@pytest.mark.parametrize(
    ("variant", "relation_tables"),
    [("quatre", 3), ("quate", 1), ("quatre_head", 2), ("quatre_tail", 2)],
)
def test_number_of_parameters_is_the_paper_s(variant, relation_tables):
    expected = ENTITIES * 4 * DIM + relation_tables * RELATIONS * 4 * DIM
    assert make(variant).count_params() == expected
