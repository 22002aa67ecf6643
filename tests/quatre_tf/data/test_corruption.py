import numpy as np
import pytest
import scipy.stats
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from quatre_tf.data.graph import Graph
from quatre_tf.data.negatives import Corruption, tail_probabilities
from quatre_tf.data.vocabulary import Vocabulary
from quatre_tf.errors import DataError

# A p-value this small comes about once in ten thousand right programs.
MIN_P_VALUE = 1e-4


def graph_of(train, num_entities, num_relations):
    names = ([str(i) for i in range(size)] for size in (num_entities, num_relations))
    entities, relations = map(Vocabulary, names, ("entity", "relation"))
    return Graph("g", entities, relations, train, train[:0], train[:0])


def unknown_entities(train, num_entities, triple, tail_side):
    """The definition: entities whose triple is not in train, in ascending order."""
    head, relation, tail = triple
    known = {(int(h), int(r), int(t)) for h, r, t in train}
    if tail_side:
        return [e for e in range(num_entities) if (head, relation, e) not in known]
    return [e for e in range(num_entities) if (e, relation, tail) not in known]


def corrupt(tables, rows, sides, entities):
    corrupted, tail_corrupted = tables.corrupt(
        tf.constant(rows), tf.constant(sides, tf.float64), tf.constant(entities, tf.float64)
    )
    return corrupted.numpy(), tail_corrupted.numpy()


def enumerate_side(tables, tail_side, numbers_unknown):
    """Draws evenly spaced numbers for every triple, one for each unknown entity of a side.

    Returns, for each triple, the entities and whether they stand for the tail.
    """
    numbers = np.array(numbers_unknown)[:, np.newaxis]
    entities = np.minimum((np.arange(numbers.max()) + 0.5) / numbers, 0.999)
    # 0 is below every positive probability, and the largest double below 1 above every other.
    sides = np.full_like(entities, 0.0 if tail_side else np.nextafter(1.0, 0.0))
    corrupted, tail_corrupted = corrupt(tables, np.arange(len(numbers)), sides, entities)
    counts = numbers[:, 0]
    return [
        (row[:count].tolist(), set(side[:count].tolist()))
        for row, side, count in zip(corrupted, tail_corrupted, counts, strict=True)
    ]


@pytest.mark.parametrize("mode", ["bern", "uniform"])
def test_every_unknown_entity_comes_exactly_once(synthetic_graph, mode):
    graph = synthetic_graph
    tables = Corruption(graph, mode)
    for tail_side in (True, False):
        expected = [
            unknown_entities(graph.train, graph.num_entities, triple, tail_side)
            for triple in graph.train
        ]
        drawn = enumerate_side(tables, tail_side, [len(unknown) for unknown in expected])
        assert drawn == [(unknown, {tail_side}) for unknown in expected]


graphs = st.integers(1, 5).flatmap(
    lambda num_entities: st.tuples(
        st.just(num_entities),
        st.lists(
            st.tuples(
                st.integers(0, num_entities - 1),
                st.integers(0, 2),
                st.integers(0, num_entities - 1),
            ),
            min_size=1,
            max_size=30,
        ),
        st.sampled_from(["bern", "uniform"]),
    )
)


@settings(deadline=None, max_examples=60)
@given(graphs)
def test_tiny_graphs_with_full_sides(graph):
    num_entities, triples, mode = graph
    train = np.array(triples, np.int32)
    unknown = [
        [unknown_entities(train, num_entities, triple, tail_side) for tail_side in (True, False)]
        for triple in triples
    ]
    if not all(tails or heads for tails, heads in unknown):
        with pytest.raises(DataError, match="cannot be corrupted"):
            Corruption(graph_of(train, num_entities, 3), mode)
        return
    tables = Corruption(graph_of(train, num_entities, 3), mode)
    for tail_side in (True, False):
        # A full side gives way to the other one.
        expected = [
            (tails, {True}) if (tails if tail_side else not heads) else (heads, {False})
            for tails, heads in unknown
        ]
        assert enumerate_side(tables, tail_side, [len(e) for e, _ in expected]) == expected


def test_what_cannot_be_corrupted_is_named():
    train = np.array([[2, 1, 0]] + [[h, 0, t] for h in range(3) for t in range(3)], np.int32)
    with pytest.raises(DataError, match=r"head 0, relation 0, tail 0; ids\) cannot be corrupted"):
        Corruption(graph_of(train, 3, 2))


def test_unknown_mode(synthetic_graph):
    with pytest.raises(
        DataError, match=r"Unknown corruption 'bernoulli'. Available: bern, uniform"
    ):
        Corruption(synthetic_graph, mode="bernoulli")


def test_tail_probabilities_by_hand():
    # Relation 0: 4 triples, 3 heads, 2 tails: tph 4/3, hpt 2. Relation 2: no triples.
    train = np.array([[0, 0, 1], [0, 0, 3], [2, 0, 3], [1, 0, 3], [4, 1, 4], [4, 1, 4]], np.int32)
    tails, heads = (graph_of(train, 5, 3).index(side, "train") for side in ("tail", "head"))

    bern = tail_probabilities(tails, heads, 3, "bern")
    np.testing.assert_allclose(bern, [2 / (2 + 4 / 3), 0.5, 0.5])
    uniform = tail_probabilities(tails, heads, 3, "uniform")
    np.testing.assert_array_equal(uniform, [0.5, 0.5, 0.5])


def bern_by_definition(train, relation):
    triples = {tuple(triple) for triple in train[train[:, 1] == relation].tolist()}
    tails_per_head = len(triples) / len({head for head, _, _ in triples})
    heads_per_tail = len(triples) / len({tail for _, _, tail in triples})
    return heads_per_tail / (heads_per_tail + tails_per_head)


def check_tail_share(tables, graph, random):
    """Compares the share of corrupted tails of each relation with bern: a binomial z-score."""
    rows = random.integers(0, len(graph.train), 20_000)
    _, tail_corrupted = corrupt(tables, rows, random.random((20_000, 10)), np.zeros((20_000, 10)))
    relations = graph.train[rows, 1]
    scores = []
    for relation in np.unique(relations):
        drawn = tail_corrupted[relations == relation]
        expected = bern_by_definition(graph.train, relation)
        scores.append((drawn.mean() - expected) / np.sqrt(expected * (1 - expected) / drawn.size))
    assert scipy.stats.chi2.sf(np.square(scores).sum(), df=len(scores)) > MIN_P_VALUE


def check_never_known(tables, graph, random):
    rows = random.integers(0, len(graph.train), 20_000)
    corrupted, tail_corrupted = corrupt(tables, rows, *random.random((2, 20_000, 10)))
    heads, relations, tails = (column[:, np.newaxis] for column in graph.train[rows].T)
    heads, tails = (
        np.where(tail_corrupted, heads, corrupted),
        np.where(tail_corrupted, corrupted, tails),
    )
    assert corrupted.min() >= 0
    assert corrupted.max() < graph.num_entities
    negatives = (column.ravel().tolist() for column in np.broadcast_arrays(heads, relations, tails))
    known = set(map(tuple, graph.train.tolist()))
    assert known.isdisjoint(zip(*negatives, strict=True))


def check_uniform(tables, graph, random, row, tail_side):
    """A chi-square test over the unknown entities of one triple."""
    expected = unknown_entities(graph.train, graph.num_entities, graph.train[row], tail_side)
    draws = 20 * len(expected)
    sides = np.full((1, draws), 0.0 if tail_side else np.nextafter(1.0, 0.0))
    corrupted, _ = corrupt(tables, [row], sides, random.random((1, draws)))
    counts = np.bincount(corrupted[0], minlength=graph.num_entities)
    assert counts.sum() == counts[expected].sum()
    assert scipy.stats.chisquare(counts[expected]).pvalue > MIN_P_VALUE


def test_statistics_of_a_large_skewed_graph(rng):
    """As in real graphs, few entities and relations are in most of the triples."""
    ids = [np.minimum(rng.zipf(1.3, 60_000), size) - 1 for size in (5_000, 40, 5_000)]
    # What is frequent among the heads must not be what is frequent among the tails.
    ids[2] = 4_999 - ids[2]
    names = [[f"{name:04d}" for name in column] for column in np.unique(ids, axis=1)]
    graph = Graph.from_names("skewed", dict.fromkeys(("train", "valid", "test"), names))
    tables = Corruption(graph)
    check_tail_share(tables, graph, rng)
    check_never_known(tables, graph, rng)
    for key, side in ((0, "tail"), (2, "head")):
        known = graph.index(side, "train")
        # The group with most known entities, but some unknown: a wrong shift would show most there.
        sizes = np.where(known.group_sizes <= graph.num_entities - 5, known.group_sizes, 0)
        relation, entity = divmod(known.keys[sizes.argmax()], graph.num_entities)
        rows = np.flatnonzero((graph.train[:, 1] == relation) & (graph.train[:, key] == entity))
        check_uniform(tables, graph, rng, rows[0], tail_side=key == 0)
