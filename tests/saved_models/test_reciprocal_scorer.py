"""A reciprocal model as it is served: heads are asked for by the inverse relation."""

import numpy as np
import pytest
import tensorflow as tf

from quatre_tf import QuatRE
from saved_models.scorer import build_scorer
from tests import reference


@pytest.fixture(scope="module")
def reciprocal(graph):
    model = QuatRE(graph.num_entities, graph.num_relations, embedding_dim=4, reciprocal=True)
    rng = np.random.default_rng(5)
    for table in model.trainable_variables:
        table.assign(rng.normal(size=table.shape))
    return model


def scores(model, given, relation_row, others):
    """Unfolded scores of `(given, relation row, other)` for each of `others`."""
    entities, *relations = model.tables().values()
    row, *rotations = (table[relation_row] for table in relations)
    return reference.scores(entities[given], row, entities[others], *rotations)


def test_heads_are_tails_of_the_inverse_relation(reciprocal, graph):
    tail, relation, everyone = 3, 1, np.arange(graph.num_entities)
    scorer = build_scorer(reciprocal, graph)
    answer = scorer.predict_heads(
        tf.constant([graph.relations.names[relation]]),
        tf.constant([graph.entities.names[tail]]),
        tf.constant(8),
        tf.constant(False),
    )
    asked = scores(reciprocal, tail, graph.num_relations + relation, everyone)
    order = np.argsort(-asked)
    names = [name.decode() for name in answer["entities"][0].numpy()]
    assert names == list(graph.entities.names[order])
    np.testing.assert_allclose(answer["scores"][0], asked[order], rtol=1e-5)
    # The probability is the triple's, whoever asks: that of its score as a question for the tail.
    triples = [scores(reciprocal, head, relation, tail) for head in order]
    expected = 1 / (1 + np.exp(-np.array(triples)))
    np.testing.assert_allclose(answer["probabilities"][0], expected, rtol=1e-4)
