"""Probabilities of answers, on a model whose scores are the logits that drew its facts."""

import numpy as np
import pytest
import tensorflow as tf

from quatre_tf import Graph, Vocabulary
from quatre_tf.calibration import answer_probabilities
from quatre_tf.calibration.answer_probabilities import AnswerProbabilities, candidates_of
from quatre_tf.errors import DataError

ENTITIES = 300


class KnownLogits:
    """A model with the score of every pair of entities, whatever the relation."""

    def __init__(self, scores):
        self._scores = tf.constant(scores, tf.float32)

    def score_tails(self, heads, relations):
        del relations
        return tf.gather(self._scores, heads)

    def score_heads(self, relations, tails):
        del relations
        return tf.gather(tf.transpose(self._scores), tails)


@pytest.fixture(scope="module")
def scores():
    return np.random.default_rng(7).normal(size=[ENTITIES, ENTITIES])


@pytest.fixture(scope="module")
def graph(scores):
    """Facts with the probability logistic(3 * score - 8), a third of them in each split."""
    rng = np.random.default_rng(8)
    is_fact = rng.random(scores.shape) < 1 / (1 + np.exp(8 - 3 * scores))
    heads, tails = rng.permutation(np.argwhere(is_fact)).T
    triples = np.stack([heads, np.zeros_like(heads), tails], axis=1).astype(np.int32)
    names = [f"e{number:03}" for number in range(ENTITIES)]
    vocabularies = Vocabulary(names, "entity"), Vocabulary(["r"], "relation")
    return Graph("drawn", *vocabularies, *np.array_split(triples, 3))


@pytest.mark.parametrize("side", ["tail", "head"])
def test_probabilities_come_true_on_facts_that_were_not_fitted(graph, scores, side):
    answers = AnswerProbabilities(KnownLogits(scores), graph)
    unknown = np.ones(scores.shape, bool)
    for split in ("train", "valid"):
        unknown[tuple(graph.split(split)[:, [0, 2]].T)] = False
    # Only questions with an answer are asked.
    asked = np.unique(graph.test[:, 0 if side == "tail" else 2])
    is_asked = np.isin(np.arange(ENTITIES), asked)
    unknown &= is_asked[:, np.newaxis] if side == "tail" else is_asked
    is_fact = np.zeros(scores.shape)
    is_fact[tuple(graph.test[:, [0, 2]].T)] = 1.0
    found = answers.probabilities(side, np.zeros(unknown.sum(), int), scores[unknown])
    labels = is_fact[unknown]
    assert found.sum() == pytest.approx(labels.sum(), rel=0.15)
    bins = np.digitize(found, [0.01, 0.05, 0.2, 0.4])
    for number in range(5):
        own = bins == number
        deviation = 4 * np.sqrt((found[own] * (1 - found[own])).sum()) / own.sum()
        assert found[own].mean() == pytest.approx(labels[own].mean(), abs=0.03 + deviation)


def test_candidates_stand_for_all_that_is_not_known(graph, scores):
    found = candidates_of(KnownLogits(scores), graph, "valid")
    assert found.labels.sum() == 2 * len(graph.valid)
    assert found.scores[found.labels == 1].mean() > found.scores[found.labels == 0].mean()
    all_of_them = found.num_questions * ENTITIES
    assert 0.98 * all_of_them < found.weights.sum() <= 1.01 * all_of_them


def test_scores_are_held_for_a_few_questions_at_a_time(graph, scores, monkeypatch):
    monkeypatch.setattr(answer_probabilities, "_MAX_SCORES", 3 * ENTITIES)
    sizes = []

    class Counting(KnownLogits):
        def score_tails(self, heads, relations):
            sizes.append(len(heads))
            return super().score_tails(heads, relations)

    found = candidates_of(Counting(scores), graph, "valid")
    assert max(sizes) == 3
    assert found.labels.sum() == 2 * len(graph.valid)


def test_what_cannot_be_fitted(graph, scores):
    with pytest.raises(DataError, match="Expected finite scores"):
        AnswerProbabilities(KnownLogits(np.full_like(scores, np.nan)), graph)
