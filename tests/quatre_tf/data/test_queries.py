import collections
import itertools
import math

import numpy as np
import pytest

from quatre_tf.data.batches import Share
from quatre_tf.data.graph import Graph
from quatre_tf.data.query_batches import QueryBatches, count_queries


@pytest.fixture
def graph():
    """Train has (a r a), (a r b) twice, (c r b), (b s c); the others have (c s a), (b r a)."""
    train, valid, test = (
        [list(column) for column in columns]
        for columns in (("aaacb", "rrrrs", "abbbc"), ("c", "s", "a"), ("b", "r", "a"))
    )
    return Graph.from_names("small", {"train": train, "valid": valid, "test": test})


def take(graph, count, *, batch_size=3, seed=5, start=0):
    batches = QueryBatches(graph, batch_size=batch_size, seed=seed)
    return list(batches.dataset(start).take(count).as_numpy_iterator())


def asked(batch):
    return list(zip(batch["entities"].tolist(), batch["relations"].tolist(), strict=True))


def answers(batch):
    return {
        query: set(batch["targets"][batch["rows"] == row].tolist())
        for row, query in enumerate(asked(batch))
    }


# Entities a, b, c are 0, 1, 2 and relations r, s are 0, 1; 2 and 3 ask for their heads.
EXPECTED = {(0, 0): {0, 1}, (2, 0): {1}, (1, 1): {2}, (0, 2): {0}, (1, 2): {0, 2}, (2, 3): {1}}


def test_every_question_once_with_all_its_answers(graph):
    assert count_queries(graph) == (6, 8)
    (batch,) = take(graph, 1, batch_size=6)
    assert answers(batch) == EXPECTED
    np.testing.assert_array_equal(batch["counts"], np.bincount(batch["rows"]))


@pytest.mark.parametrize("max_answers", [1, 2, 3, 100])
def test_long_queries_are_split(synthetic_graph, max_answers):
    """All parts have all answers once; they differ by one answer at most."""
    num_queries, num_answers = count_queries(synthetic_graph)
    num_parts, still = count_queries(synthetic_graph, max_answers)
    assert still == num_answers
    made = [
        QueryBatches(synthetic_graph, batch_size=size, max_answers=limit, seed=4)
        for size, limit in ((num_queries, 0), (num_parts, max_answers))
    ]
    whole, split = (next(batches.dataset().take(1).as_numpy_iterator()) for batches in made)
    expected = answers(whole)
    sizes = collections.defaultdict(list)
    for query, count in zip(asked(split), split["counts"].tolist(), strict=True):
        sizes[query].append(count)
    assert sizes.keys() == expected.keys()
    for query, parts in sizes.items():
        assert sum(parts) == len(expected[query])
        assert len(parts) == math.ceil(len(expected[query]) / max_answers)
        assert max(parts) - min(parts) <= 1
    found = collections.defaultdict(list)
    queries = asked(split)
    for row, target in zip(split["rows"].tolist(), split["targets"].tolist(), strict=True):
        found[queries[row]].append(target)
    assert {query: sorted(targets) for query, targets in found.items()} == {
        query: sorted(targets) for query, targets in expected.items()
    }
    np.testing.assert_array_equal(split["counts"], np.bincount(split["rows"]))


def test_parts_of_a_query_are_not_ranges_of_ids(synthetic_graph):
    batches = QueryBatches(synthetic_graph, batch_size=1, max_answers=2, seed=4).dataset()
    num_parts, _ = count_queries(synthetic_graph, 2)
    parts = collections.defaultdict(list)
    for batch in batches.take(num_parts).as_numpy_iterator():
        parts[asked(batch)[0]].append(sorted(batch["targets"].tolist()))
    ordered = [
        all(one[-1] < other[0] for one, other in itertools.pairwise(sorted(of_query)))
        for of_query in parts.values()
        if len(of_query) > 1
    ]
    assert not all(ordered)


def test_max_answers_is_not_negative(graph):
    with pytest.raises(ValueError, match=r"`max_answers` must be at least 0\. Received: -1"):
        QueryBatches(graph, batch_size=1, max_answers=-1, seed=0)


def test_a_pass_asks_every_question_in_an_order_of_its_own(synthetic_graph):
    num_queries, _ = count_queries(synthetic_graph)
    size = num_queries // 4
    passes = [take(synthetic_graph, 4, batch_size=size, start=start) for start in (0, 4, 8)]
    orders = [tuple(query for batch in batches for query in asked(batch)) for batches in passes]
    assert all(len(set(order)) == 4 * size for order in orders)
    assert len(set(orders)) == 3
    # Other seeds have other orders.
    other = take(synthetic_graph, 4, batch_size=size, seed=6)
    assert tuple(query for batch in other for query in asked(batch)) not in orders


@pytest.mark.parametrize("seed", [0, -1, 2**62])
def test_a_batch_is_a_function_of_seed_and_number(synthetic_graph, seed):
    whole = take(synthetic_graph, 6, seed=seed)
    resumed = take(synthetic_graph, 2, seed=seed, start=4)
    for one, other in zip(whole[4:], resumed, strict=True):
        for key in one:
            np.testing.assert_array_equal(one[key], other[key])


@pytest.mark.parametrize("batch_size", [0, 7])
def test_batch_size_has_bounds(graph, batch_size):
    with pytest.raises(ValueError, match=rf"in 1 \.\.\. 6, .* Received: {batch_size}"):
        QueryBatches(graph, batch_size=batch_size, seed=0)


def test_candidates_are_distinct_and_hits_are_the_answers_among_them(synthetic_graph):
    batches = QueryBatches(synthetic_graph, batch_size=9, num_candidates=5, seed=1).dataset()
    drawn = set()
    for batch in batches.take(150).as_numpy_iterator():
        candidates = batch["candidates"].tolist()
        assert candidates == sorted(set(candidates))
        expected = {
            (row, candidates.index(target))
            for row, target in zip(batch["rows"].tolist(), batch["targets"].tolist(), strict=True)
            if target in candidates
        }
        assert set(map(tuple, batch["hits"].tolist())) == expected
        drawn.update(candidates)
    assert drawn == set(range(synthetic_graph.num_entities))


def test_no_sample_of_candidates_and_no_order_comes_again(synthetic_graph):
    """`index_shuffle` alone repeats itself after 256 seeds."""
    found = []
    for seed in (1, 257):
        batches = QueryBatches(synthetic_graph, batch_size=9, num_candidates=5, seed=seed)
        found += list(batches.dataset().take(400).as_numpy_iterator())
    for key in ("candidates", "entities"):
        distinct = {tuple(batch[key].tolist()) for batch in found}
        assert len(distinct) > 0.9 * len(found)


def test_all_entities_are_candidates_equally_often(synthetic_graph):
    batches = QueryBatches(synthetic_graph, batch_size=1, num_candidates=5, seed=1)
    drawn = [batch["candidates"] for batch in batches.dataset().take(2000).as_numpy_iterator()]
    counts = np.bincount(np.concatenate(drawn), minlength=synthetic_graph.num_entities)
    expected = 2000 * 5 / synthetic_graph.num_entities
    # Of a binomial distribution.
    deviation = np.sqrt(expected * (1 - 5 / synthetic_graph.num_entities))
    assert np.abs(counts - expected).max() < 4.5 * deviation


def test_candidates_are_drawn_apart_from_the_order_of_the_queries():
    """With as many entities as queries, the same seed would draw the ids of both alike."""
    heads, tails = [f"head {i}" for i in range(12, 32)], [f"tail {i}" for i in range(12, 32)]
    triples = [heads, ["r"] * 20, tails]
    graph = Graph.from_names("pairs", dict.fromkeys(("train", "valid", "test"), triples))
    # Query i is asked with entity i: (head i, r, ?) first, then (?, r, tail i).
    keys = np.concatenate([graph.index(side, "train").keys for side in ("tail", "head")])
    assert keys.tolist() == list(range(40)) == list(range(graph.num_entities))
    batches = QueryBatches(graph, batch_size=6, num_candidates=6, seed=2).dataset()
    taken = list(batches.take(36).as_numpy_iterator())
    questions = {tuple(sorted(batch["entities"].tolist())) for batch in taken}
    candidates = {tuple(batch["candidates"].tolist()) for batch in taken}
    assert len(questions) == len(candidates) == 36
    assert questions.isdisjoint(candidates)


@pytest.mark.parametrize("num_parts", [2, 3])
def test_parts_are_the_batch(synthetic_graph, num_parts):
    """However many replicas share it, a batch has the same questions and candidates."""
    batches = QueryBatches(synthetic_graph, batch_size=8, num_candidates=5, seed=3)
    (whole,) = batches.dataset(7).take(1).as_numpy_iterator()
    share = Share(num_parts, 0, num_parts)
    parts = list(batches.dataset(7, share).take(num_parts).as_numpy_iterator())
    for key in ("entities", "relations", "counts", "targets"):
        joined = np.concatenate([part[key] for part in parts])
        np.testing.assert_array_equal(joined, whole[key])
    for part in parts:
        np.testing.assert_array_equal(part["candidates"], whole["candidates"])
