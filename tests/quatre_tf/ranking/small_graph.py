"""A graph of a dozen triples whose every rank is worked out by hand in test_evaluator.py."""

import numpy as np

from quatre_tf import QuatRE
from quatre_tf.data.graph import Graph

# One number an entity, so that the score of (h, r, t) is the product of two.
NUMBERS = {"a": 1.0, "b": 2.0, "c": 2.0, "d": -1.0, "e": 0.0, "f": 3.0}
SPLITS = {
    "train": "a likes b, a likes c, b likes d, c likes a, d likes e, e likes b, b rules a",
    "valid": "c likes b, d likes d",
    "test": "a likes d, f likes c, b likes b, c rules a",
}


def small_graph():
    splits = {
        name: tuple(zip(*(triple.split() for triple in text.split(", ")), strict=True))
        for name, text in SPLITS.items()
    }
    return Graph.from_names("small", splits)


def small_model(**numbers):
    """A model of `NUMBERS`, some of them replaced; both relations are the identity."""
    model = QuatRE(num_entities=6, num_relations=2, embedding_dim=1, variant="quate")
    table = np.zeros([6, 4], np.float32)
    table[:, 0] = list((NUMBERS | numbers).values())
    model.entities.embeddings.assign(table)
    model.score_function.tables["relation"].assign([[1.0, 0, 0, 0]] * 2)
    return model
