import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datasets.splitting import SplitOptions, split_triples
from datasets.twins import overlaps, twins_of
from quatre_tf.errors import DataError

ENTITIES, RELATIONS = 12, 5


@st.composite
def graphs(draw):
    """Distinct triples; relation 3 is a copy of 0, 4 the inverse of 1: both are full of twins."""
    ids = st.tuples(st.integers(0, ENTITIES - 1), st.integers(0, 2), st.integers(0, ENTITIES - 1))
    drawn = draw(st.lists(ids, min_size=40, max_size=90, unique=True))
    copies = [(h, 3, t) for h, r, t in drawn if r == 0]
    inverses = [(t, 4, h) for h, r, t in drawn if r == 1]
    return np.array(draw(st.permutations(drawn + copies + inverses)), np.int32)


@settings(deadline=None, max_examples=60)
@given(triples=graphs(), seed=st.integers(0, 2**32), share=st.sampled_from([0.05, 0.1, 0.3]))
def test_leakage_aware_split_keeps_its_promises(triples, seed, share):
    options = SplitOptions("leakage_aware", share, share, seed)
    rows = split_triples(triples, ENTITIES, RELATIONS, options)

    together = np.concatenate(list(rows.values()))
    assert sorted(together.tolist()) == list(range(len(triples)))
    train = triples[rows["train"]]
    twins = overlaps(triples, RELATIONS).suspected()
    sets = {split: set(map(tuple, triples[rows[split]].tolist())) for split in rows}
    for split in ("valid", "test"):
        held = triples[rows[split]]
        assert 0 < len(held) <= max(1, round(share * len(triples))) + len(triples) * 0.1
        assert set(held[:, [0, 2]].flat) <= set(train[:, [0, 2]].flat)
        assert set(held[:, 1]) <= set(train[:, 1])
        others = set().union(*(sets[other] for other in sets if other != split))
        assert not others & set(map(tuple, twins_of(held, twins).tolist()))
    again = split_triples(triples, ENTITIES, RELATIONS, options)
    assert all((rows[split] == again[split]).all() for split in rows)


def test_shares_are_met_where_they_can_be(rng):
    triples = np.unique(rng.integers(0, [50, 4, 50], (3000, 3)), axis=0)
    for method in ("random", "leakage_aware"):
        rows = split_triples(triples, 50, 4, SplitOptions(method, 0.1, 0.2, 7))
        assert len(rows["valid"]) == round(0.1 * len(triples))
        assert len(rows["test"]) == round(0.2 * len(triples))
        assert len(rows["train"]) == len(triples) - len(rows["valid"]) - len(rows["test"])
        other = split_triples(triples, 50, 4, SplitOptions(method, 0.1, 0.2, 8))
        assert (rows["test"] != other["test"]).any()


def test_what_cannot_be_held_out_makes_both_smaller():
    """A star of 40 leaves, and one triple more for 10 of them: 10 triples can go, 5 and 5."""
    star = [(0, 0, leaf) for leaf in range(1, 41)]
    more = [(leaf, 1, leaf + 10) for leaf in range(1, 11)]
    rows = split_triples(
        np.array(star + more), 41, 2, SplitOptions(valid_share=0.3, test_share=0.3)
    )
    assert abs(len(rows["valid"]) - len(rows["test"])) <= 1
    assert 10 <= len(rows["valid"]) + len(rows["test"]) <= 20


@pytest.mark.parametrize("method", ["leakage_aware", "random"])
def test_too_few_triples(method):
    with pytest.raises(DataError, match=r"Nothing is left for .*of 2 triples") as error:
        split_triples(np.array([(0, 0, 1), (1, 0, 2)]), 3, 1, SplitOptions(method))
    assert ("--split=random" in str(error.value)) == (method != "random")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "fair"}, "Unknown split 'fair'. Available: leakage_aware, random"),
        ({"valid_share": 0.0}, "above 0, together below 1. Received: 0.0 and 0.1"),
        ({"valid_share": 0.5, "test_share": 0.5}, "Received: 0.5 and 0.5"),
        ({"valid_share": float("nan")}, "above 0, together below 1. Received: nan and 0.1"),
        ({"test_share": float("nan")}, "above 0, together below 1. Received: 0.1 and nan"),
        ({"seed": -1}, "Expected a seed of at least 0, received -1"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(DataError, match=message):
        SplitOptions(**options)


def test_a_triple_that_cannot_be_held_out_does_not_count():
    """Each of 30 entities has a leaf, whose triple must stay, and a triple that can then go."""
    hub, leaf_of_hub, stays, goes = 60, 61, [], []
    for entity in range(30):
        stays.append((entity, 0, 30 + entity))
        goes.append((entity, 0, hub))
    triples = np.array([*stays, *goes, (hub, 0, leaf_of_hub)])
    # A quarter of 61 triples is 15.
    rows = split_triples(triples, 62, 1, SplitOptions(valid_share=0.25, test_share=0.25))
    assert sorted([*rows["valid"], *rows["test"]]) == list(range(30, 60))
