import numpy as np
import pytest

from datasets.graph_report import describe
from datasets.published import archives, benchmarks
from datasets.triples import parse_triples
from datasets.twins import leakage, overlaps, twins_of
from quatre_tf import Graph

PARENT, CHILD, MARRIED, KNOWS, FRIEND = range(5)


def pairs_of(relation, pairs):
    return [(head, relation, tail) for head, tail in pairs]


def facts_of(twins):
    columns = (twins.kinds, twins.first, twins.second, twins.shared)
    return {(k, int(f), int(s), int(n)) for k, f, s, n in zip(*columns, strict=True)}


def family():
    """Five facts of parents and their inverses; three symmetric couples; a lone fact of knowing."""
    parents = [(0, 1), (0, 2), (3, 4), (5, 6), (7, 8)]
    couples = [(0, 3), (3, 0), (5, 7), (7, 5), (1, 4), (4, 1)]
    return np.array(
        pairs_of(PARENT, parents)
        + pairs_of(CHILD, [(tail, head) for head, tail in parents])
        + pairs_of(MARRIED, couples)
        + pairs_of(KNOWS, [*couples, (0, 8), (2, 2), (0, 1)])
    )


def test_suspected_by_hand():
    found = overlaps(family(), 5).suspected()
    # 6 of 8 are not 97 % of knowing, but they are all couples.
    assert facts_of(found) == {
        ("inverse", PARENT, CHILD, 5),
        ("symmetric", MARRIED, MARRIED, 6),
        ("duplicate", MARRIED, KNOWS, 6),
        ("inverse", MARRIED, KNOWS, 6),
    }
    clusters = found.clusters()
    assert clusters[PARENT] == clusters[CHILD]
    assert clusters[MARRIED] == clusters[KNOWS]
    assert len({clusters[PARENT], clusters[MARRIED], clusters[FRIEND]}) == 3


@pytest.mark.parametrize(
    ("total", "shared", "is_twin"), [(100, 97, True), (100, 96, False), (4, 4, False)]
)
def test_threshold(total, shared, is_twin):
    pairs = [(2 * i, 2 * i + 1) for i in range(2 * total)]
    triples = pairs_of(0, pairs[:total]) + pairs_of(1, pairs[total - shared : 2 * total - shared])
    assert len(overlaps(np.array(triples), 2).suspected()) == is_twin


def test_overlaps_agree_with_sets(rng):
    triples = np.unique(rng.integers(0, [9, 6, 9], (300, 3)), axis=0)
    found = overlaps(triples, 6)
    sets = [
        {(h, t) for h, r, t in triples.tolist() if r == wanted and h != t} for wanted in range(6)
    ]
    expected = set()
    for first in range(6):
        for second in range(first, 6):
            backwards = {(t, h) for h, t in sets[second]}
            kind = "symmetric" if first == second else "inverse"
            expected.add((kind, first, second, len(sets[first] & backwards)))
            if first != second:
                expected.add(("duplicate", first, second, len(sets[first] & sets[second])))
    assert facts_of(found) == {row for row in expected if row[3]}


def test_no_triples_no_twins():
    nothing = np.zeros((0, 3), np.int32)
    assert len(overlaps(nothing, 3).suspected()) == 0
    assert overlaps(nothing, 3).suspected().clusters().tolist() == [0, 1, 2]


def test_twins_of_triples():
    found = overlaps(family(), 5).suspected()
    twins = twins_of(np.array([(20, PARENT, 21), (22, MARRIED, 23), (24, FRIEND, 25)]), found)
    assert {tuple(row) for row in twins.tolist()} == {
        (21, CHILD, 20),
        (23, MARRIED, 22),
        (22, KNOWS, 23),
        (23, KNOWS, 22),
    }


def leakage_of(splits):
    columns = {split: list(zip(*rows, strict=True)) for split, rows in splits.items()}
    graph = Graph.from_names("hand", columns)
    return leakage(graph, overlaps(graph.known, graph.num_relations).suspected())["test"]


def test_leakage_by_hand():
    """Couples stand in train one way round; valid and test hold some of the other ways."""
    couples = [(f"a{i}", f"b{i}") for i in range(6)]
    train = [(a, "married", b) for a, b in couples] + [("a0", "knows", "b5"), ("b1", "knows", "a0")]
    back = [(b, "married", a) for a, b in couples]
    splits = {
        "train": train,
        "valid": [*back[:2], back[5]],
        "test": [*back[2:5], ("a0", "knows", "b1")],
    }
    found = leakage_of(splits)

    # 3 of 4, each the only answer that the rule has: (b5, married, a5) asks somebody else.
    assert found["num_triples"] == 4
    assert found["share"] == 0.75
    assert found["rule"] == {"mrr": 0.75, "hits@1": 0.75, "hits@10": 0.75}


def test_wrong_proposals_cost_the_rule_ranks():
    """`near` holds of sixty pairs in both directions; train says three things about x."""
    couples = [(f"a{i}", f"b{i}") for i in range(60)]
    both = [*couples, *[(b, a) for a, b in couples]]
    train = [(h, "near", t) for h, t in [*both, ("x", "y"), ("u", "x"), ("v", "x")]]
    test = [("y", "near", "x")]
    splits = {"train": train, "valid": [("w", "other", "x")], "test": test}
    found = leakage_of(splits)

    # (y, near, ?): x alone. (?, near, x): y alone, since u and v are known and filtered.
    assert found["rule"]["mrr"] == 1.0
    # Now (x, near, ?) hears of u and v, wrongly, and of y: rank 1 + 2 / 2.
    train = [*train[:-3], ("u", "near", "x"), ("v", "near", "x"), ("y", "near", "x")]
    splits |= {"train": train, "test": [("x", "near", "y")]}
    found = leakage_of(splits)
    assert found["rule"] == {"mrr": (1 / 2 + 1) / 2, "hits@1": 0.5, "hits@10": 1.0}


def test_wn18rr_keeps_symmetric_relations_only(archive_dir):
    texts = archives.read_splits(benchmarks.BENCHMARKS["wn18rr"], archive_dir)
    tables = {split: parse_triples(text, split) for split, text in texts.items()}
    facts = describe(Graph.from_names("wn18rr", tables))
    assert [(row["kind"], row["relation"]) for row in facts["suspected_relations"]] == [
        ("symmetric", "_derivationally_related_form"),
        ("symmetric", "_verb_group"),
        ("symmetric", "_similar_to"),
    ]
    # Dettmers et al. (2018) report .35 for the rule on WN18RR.
    assert facts["leakage"]["test"]["rule"]["hits@10"] == pytest.approx(0.35, abs=0.02)
    # The well-known 210 triples of test that no model can know.
    assert facts["unseen"]["test"]["num_triples"] == 210
