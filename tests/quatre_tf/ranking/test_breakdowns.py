import dataclasses

import numpy as np
import pytest

from quatre_tf.data.candidate_sets import CANDIDATE_SETS
from quatre_tf.data.known_triples import index_heads, index_tails
from quatre_tf.data.relation_categories import CATEGORIES, heads_and_tails, relation_categories
from quatre_tf.metrics import rank_metrics
from quatre_tf.ranking.breakdowns import Breakdowns, adjusted_mean_rank_index
from quatre_tf.ranking.evaluator import Evaluator
from tests.quatre_tf.ranking.small_graph import small_graph, small_model


@pytest.fixture(scope="module")
def graph():
    return small_graph()


@pytest.fixture(scope="module")
def ranks(graph):
    return Evaluator(graph, candidates=CANDIDATE_SETS).rank(small_model(), "test")


@pytest.fixture(scope="module")
def parts(ranks, graph):
    """The rows of all breakdowns by how and where they divide the split, in their order."""
    breakdowns = Breakdowns(ranks, graph, "realistic")
    rows = [*breakdowns.by_relation(), *breakdowns.by_category(), *breakdowns.unseen_entities()]
    found = {}
    for row in rows:
        found.setdefault((row.group_by, row.group), []).append(row)
    return found


def metrics_of(ranks, candidates, side, chosen):
    """The figures of some triples, from their ranks alone."""
    sides = ["head", "tail"] if side == "both" else [side]
    return rank_metrics([ranks.ranks(candidates, s)[i] for s in sides for i in chosen])


@pytest.mark.parametrize(
    ("group_by", "group", "chosen"),
    [
        ("relation", "likes", [0, 1, 2]),
        ("relation", "rules", [3]),
        # Over all: rules has 2 heads for 1 tail, likes 11 triples of 6 heads and 5 tails.
        ("category", "M-1", [3]),
        ("category", "M-M", [0, 1, 2]),
        # In train rules has 1 triple, and likes 6 triples of 5 heads and 5 tails.
        ("train_category", "1-1", [0, 1, 2, 3]),
        # Only f is not in train: in "f likes c".
        ("entities", "unseen", [1]),
    ],
)
def test_parts_of_the_small_graph(parts, ranks, group_by, group, chosen):
    rows = parts[group_by, group]
    assert {row.num_triples for row in rows} == {len(chosen)}
    received = {(row.candidates, row.side, row.metric): row.value for row in rows}
    expected = {
        (candidates, side, metric): value
        for candidates in CANDIDATE_SETS
        for side in ("both", "head", "tail")
        for metric, value in metrics_of(ranks, candidates, side, chosen).items()
    }
    assert received == pytest.approx(expected)
    assert all(row.low is None for row in rows)


def categories_of(triples, num_entities, num_relations):
    indexes = (index(triples, num_entities) for index in (index_tails, index_heads))
    return relation_categories(heads_and_tails(*indexes, num_relations))


def test_categories_follow_the_definition(rng):
    triples = rng.integers(0, [12, 9, 12], [90, 3])
    # Some relations with one-sided or repeated triples, and one without any.
    triples = np.concatenate([triples[triples[:, 1] < 6], [[0, 6, i] for i in range(4)]])
    triples = np.concatenate([triples, [[i, 7, 0] for i in range(4)], [[1, 8, 2]] * 3])
    found = categories_of(triples, 12, 10)
    for relation in range(10):
        pairs = {(h, t) for h, r, t in triples.tolist() if r == relation}
        if not pairs:
            assert found[relation] == -1
            continue
        heads_per_tail = len(pairs) / len({t for _, t in pairs})
        tails_per_head = len(pairs) / len({h for h, _ in pairs})
        name = f"{'M' if heads_per_tail >= 1.5 else '1'}-{'M' if tails_per_head >= 1.5 else '1'}"
        assert CATEGORIES[found[relation]] == name


@pytest.mark.parametrize(
    ("pairs", "category"),
    [
        # Three triples of two heads: 1.5 tails a head is many already.
        ([(0, 0), (0, 1), (1, 2)], "1-M"),
        ([(0, 0), (1, 0), (2, 1)], "M-1"),
        ([(0, 0), (0, 1), (1, 2), (2, 3)], "1-1"),
    ],
)
def test_threshold_belongs_to_many(pairs, category):
    triples = np.array([(h, 0, t) for h, t in pairs])
    (found,) = categories_of(triples, 4, 1)
    assert CATEGORIES[found] == category


def test_adjusted_mean_rank_index_by_hand(ranks):
    """Ranks and competitors of test_evaluator.py: 1 - (mean rank - 1) / (mean competitors / 2)."""
    rows = adjusted_mean_rank_index(ranks, "realistic")
    index = {(row.candidates, row.side): row.value for row in rows}
    assert index["all", "head"] == pytest.approx(1 - 3 / (13 / 2))
    assert index["all", "tail"] == pytest.approx(1 - 9 / (17 / 2))
    assert index["all", "both"] == pytest.approx(1 - 12 / (30 / 2))
    assert index["type_constrained", "tail"] == pytest.approx(1 - 3 / (9 / 2))


def test_adjusted_mean_rank_index_without_competitors(ranks):
    counts = {
        side: dataclasses.replace(counts, competitors=0 * counts.competitors)
        for side, counts in ranks.counts["all"].items()
    }
    alone = dataclasses.replace(ranks, counts={"all": counts})
    assert list(adjusted_mean_rank_index(alone, "realistic")) == []
