"""An evaluation with products in bfloat16 first has the ranks of one without."""

import numpy as np
import pytest

from quatre_tf import QuatRE
from quatre_tf.data.candidate_sets import CANDIDATE_SETS
from quatre_tf.data.graph import Graph
from quatre_tf.data.vocabulary import Vocabulary
from quatre_tf.ranking import evaluator
from quatre_tf.ranking.evaluator import Evaluator
from quatre_tf.ranking.tile_runner import TileRunner

SIZE = 3500


@pytest.fixture(scope="module")
def graph():
    """In test nine of ten triples are loops."""
    rng = np.random.default_rng(5)
    splits = [rng.integers(0, [SIZE, 3, SIZE], [n, 3], np.int32) for n in (4000, 50, 1100)]
    splits[2][:1000, 2] = splits[2][:1000, 0]
    names = Vocabulary([f"e{i}" for i in range(SIZE)]), Vocabulary(["x", "y", "z"], "relation")
    return Graph("loops", *names, *splits)


def build():
    """Ranks loops first: relations leave an entity as it is."""
    rng = np.random.default_rng(6)
    model = QuatRE(SIZE, 3, 16, variant="quate")
    model.entities.embeddings.assign(rng.normal(size=[SIZE, 64]))
    model.relations.relation.embeddings.assign(np.repeat([[1, 0, 0, 0]], 16, axis=1).repeat(3, 0))
    return model


@pytest.fixture
def passes(monkeypatch):
    """Will have the number of triples of each pass: there are two a side with screening."""
    found, count_all = [], TileRunner._count_all

    def spy(self, table, side, triples):
        found.append(len(triples))
        return count_all(self, table, side, triples)

    monkeypatch.setattr(TileRunner, "_count_all", spy)
    return found


def assert_same(found, expected, candidates=CANDIDATE_SETS):
    for name in candidates:
        for side in ("head", "tail"):
            ours, theirs = (ranks.counts[name][side] for ranks in (found, expected))
            np.testing.assert_array_equal(ours.better, theirs.better)
            np.testing.assert_array_equal(ours.equal, theirs.equal)


@pytest.mark.parametrize("strategy", ["default", "mirrored"], indirect=True)
def test_ranks_are_those_of_float32(graph, passes, strategy):
    expected = Evaluator(graph, candidates=CANDIDATE_SETS, screened=False).rank(build(), "test")
    assert passes == [1100, 1100]
    with strategy.scope():
        model = build()
    for candidates in (CANDIDATE_SETS, ("all",)):
        del passes[:]
        screened = Evaluator(graph, candidates=candidates, strategy=strategy, screened=True)
        assert_same(screened.rank(model, "test"), expected, candidates)
        first, rest = passes[:2]
        assert first == 1100
        # The hundred others are left to float32; some of them are easy by chance.
        assert 20 < rest < 600


@pytest.mark.parametrize("pays", [True, False])
def test_it_is_screened_where_that_pays(graph, passes, monkeypatch, pays):
    asked = []
    monkeypatch.setattr(evaluator, "screening_pays", lambda *shape: asked.append(shape) or pays)
    Evaluator(graph).rank(build(), "test")
    assert asked == [(SIZE, 64, 1100)]
    assert len(passes) == (4 if pays else 2)


@pytest.mark.parametrize(("limit", "passes_a_side"), [(1000, 1), (3000, 2)])
def test_a_copy_that_there_is_no_room_for_is_not_made(
    graph, passes, monkeypatch, limit, passes_a_side
):
    monkeypatch.setattr(evaluator, "table_bytes", lambda *_: 2 * 2**30)
    limited = Evaluator(graph, memory_limit_mb=limit, screened=True).rank(build(), "test")
    assert len(passes) == 2 * passes_a_side
    assert_same(limited, Evaluator(graph, screened=False).rank(build(), "test"), ("all",))
