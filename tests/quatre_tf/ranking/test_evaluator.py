import dataclasses
import gc
import weakref

import numpy as np
import pytest
import tensorflow as tf

from quatre_tf import QuatRE
from quatre_tf.data.candidate_sets import CANDIDATE_SETS
from quatre_tf.data.graph import Graph
from quatre_tf.data.vocabulary import Vocabulary
from quatre_tf.errors import DataError, TrainingError
from quatre_tf.ranking.evaluator import Evaluator
from tests.quatre_tf.ranking.small_graph import small_graph, small_model

# Worked out by hand. The numbers are a 1, b 2, c 2, d -1, e 0, f 3; a score is a product of two.
# Known tails: a likes b c d; b likes b d; f likes c; c rules a. Known heads: a b d like d;
# a f like c; a b c e like b; b c rule a. Each entry: better, equal, competitors.
EXPECTED = {
    "all": {
        "tail": [
            (3, 0, 3),  # a likes d, d scores -1: better are a 1, e 0, f 3; b and c are known
            (1, 1, 5),  # f likes c, c scores 6: better is f 9; equal is b 6; worse a 3, d -3, e 0
            (1, 1, 4),  # b likes b, b scores 4: better is f 6; equal is c 4; worse a 2, e 0
            (3, 0, 5),  # c rules a, a scores 2: better are b 4, c 4, f 6; worse d -2, e 0
        ],
        "head": [
            (1, 0, 3),  # a likes d, a scores -1: better is e 0; worse c -2, f -3
            (0, 0, 4),  # f likes c, f scores 6: worse b 4, c 4, d -2, e 0
            (1, 0, 2),  # b likes b, b scores 4: better is f 6; worse d -2
            (1, 0, 4),  # c rules a, c scores 2: better is f 3; worse a 1, d -1, e 0
        ],
    },
    # Heads of likes: a b c d e f, tails: a b c d e; heads of rules: b c, tails: a.
    "type_constrained": {
        "tail": [
            (2, 0, 2),  # a and e are left, better both
            (0, 1, 4),  # a b d e are left: b is equal
            (0, 1, 3),  # a c e are left: c is equal
            (0, 0, 0),  # the only candidate is the answer
        ],
        "head": [
            (1, 0, 3),
            (0, 0, 4),
            (1, 0, 2),
            (0, 0, 0),  # b is left, and known
        ],
    },
    # Heads of likes: a b c d e, tails: a b c d e; heads of rules: b, tails: a.
    "train_type_constrained": {
        "tail": [(2, 0, 2), (0, 1, 4), (0, 1, 3), (0, 0, 0)],
        "head": [
            (1, 0, 2),  # c and e are left: e is better
            (0, 0, 4),  # the answer f is not in the set, and is ranked all the same
            (0, 0, 1),  # d is left
            (0, 0, 0),  # nobody: b is known, and the answer c is not in the set
        ],
    },
}
# The ranks of the four triples, as they follow from it: heads, then tails.
REALISTIC = {
    "all": ([2, 1, 2, 2], [4, 2.5, 2.5, 4]),
    "type_constrained": ([2, 1, 2, 1], [3, 1.5, 1.5, 1]),
    "train_type_constrained": ([2, 1, 1, 1], [3, 1.5, 1.5, 1]),
}
PESSIMISTIC_TAILS = {"all": [4, 3, 3, 4], "type_constrained": [3, 2, 2, 1]}


@pytest.fixture(scope="module")
def ranks():
    return Evaluator(small_graph(), candidates=CANDIDATE_SETS).rank(small_model(), "test")


@pytest.mark.parametrize("candidates", CANDIDATE_SETS)
def test_every_count_by_hand(ranks, candidates):
    for side, expected in EXPECTED[candidates].items():
        counts = ranks.counts[candidates][side]
        found = zip(counts.better, counts.equal, counts.competitors, strict=True)
        assert list(found) == expected


@pytest.mark.parametrize("candidates", CANDIDATE_SETS)
def test_every_rank_by_hand(ranks, candidates):
    heads, tails = REALISTIC[candidates]
    assert ranks.ranks(candidates, "head").tolist() == heads
    assert ranks.ranks(candidates, "tail").tolist() == tails
    pessimistic = PESSIMISTIC_TAILS.get(candidates, PESSIMISTIC_TAILS["type_constrained"])
    assert ranks.ranks(candidates, "tail", "pessimistic").tolist() == pessimistic


def test_figures_by_hand():
    result = Evaluator(small_graph()).evaluate(small_model(), "test")
    assert result.candidates == ("all",)
    both = result.metrics()
    assert both["mr"] == 20 / 8
    assert both["mrr"] == pytest.approx((3 / 2 + 1 + 2 / 4 + 2 / 2.5) / 8)
    assert (both["hits@1"], both["hits@3"], both["hits@10"]) == (1 / 8, 6 / 8, 1)
    assert result.metrics(side="head")["mr"] == 7 / 4
    assert result.num_triples == 4


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_scores_that_are_not_finite_are_refused(value):
    with pytest.raises(TrainingError, match="NaN or infinite, so it has no ranks"):
        Evaluator(small_graph()).rank(small_model(e=value), "test")


def test_a_split_without_triples_is_refused():
    graph = dataclasses.replace(small_graph(), test=np.empty([0, 3], np.int32))
    with pytest.raises(DataError, match=f"The test split of {graph.name} has no triples to rank"):
        Evaluator(graph).evaluate(small_model(), "test")


@pytest.mark.parametrize("number", [0.0, 2.0])
def test_a_constant_scorer_is_refused(number):
    model = small_model(**dict.fromkeys("abcdef", number))
    with pytest.raises(TrainingError, match="same score, so its ranks would mean nothing"):
        Evaluator(small_graph(), tie_policy="optimistic").rank(model, "test")


def test_sets_in_any_selection_count_alike(ranks):
    for candidates in (CANDIDATE_SETS[1:], CANDIDATE_SETS[:0:-1], CANDIDATE_SETS[2:]):
        some = Evaluator(small_graph(), candidates=candidates).rank(small_model(), "test")
        assert some.candidates == tuple(candidates)
        assert_same_counts(some, ranks)


def assert_same_counts(one, other):
    for name, sides in one.counts.items():
        for side, counts in sides.items():
            expected = dataclasses.astuple(other.counts[name][side])
            np.testing.assert_array_equal(dataclasses.astuple(counts), expected)


@pytest.fixture(scope="module")
def random_graph():
    """1,100 test triples: three tiles of queries for heads, one for tails, which have 200 queries
    of up to a dozen triples; 3,100 entities: two tiles of those.
    """
    rng = np.random.default_rng(3)
    splits = [rng.integers(0, [3100, 5, 3100], [n, 3], np.int32) for n in (3000, 100, 1100)]
    for split in splits:
        split[:, 0] %= 40  # hubs, so that there are known answers
    names = [f"e{i}" for i in range(3100)], [f"r{i}" for i in range(5)]
    return Graph("random", Vocabulary(names[0]), Vocabulary(names[1], "relation"), *splits)


@pytest.mark.parametrize("strategy", ["mirrored"], indirect=True)
def test_replicas_share_the_queries_and_count_the_same(random_graph, strategy):
    def build():
        tf.keras.utils.set_random_seed(1)
        return QuatRE(3100, 5, 8)

    alone = Evaluator(random_graph, candidates=CANDIDATE_SETS).rank(build(), "test")
    with strategy.scope():
        model = build()
    evaluator = Evaluator(random_graph, candidates=CANDIDATE_SETS, strategy=strategy)
    assert_same_counts(evaluator.rank(model, "test"), alone)


def test_a_model_that_was_ranked_is_not_kept(random_graph):
    model = QuatRE(3100, 5, 8)
    table = weakref.ref(model.entities.embeddings.value)
    Evaluator(random_graph).rank(model, "valid")
    del model
    gc.collect()
    assert table() is None
