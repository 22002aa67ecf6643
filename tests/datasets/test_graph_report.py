import re

import pytest

from datasets.graph_report import describe, description_text
from quatre_tf import Graph

RING = [(f"e{i:02d}", "next", f"e{(i + 1) % 40:02d}") for i in range(40)]


def columns(splits):
    return {split: list(zip(*rows, strict=True)) for split, rows in splits.items()}


def graph_of(
    train, valid=(("e00", "skip", "e02"),), test=(("e01", "skip", "e03"),), negatives=None
):
    splits = {"train": train, "valid": valid, "test": test}
    return Graph.from_names("g", columns(splits), negatives=columns(negatives or {}))


def skips(number):
    return [(f"e{i:02d}", "skip", f"e{i + 2:02d}") for i in range(4, 4 + number)]


def test_facts_by_hand():
    facts = describe(graph_of([*RING, *skips(2), ("e09", "next", "e09"), RING[0]]))
    assert facts["counts"] == {
        "entities": 40, "relations": 2, "train": 44, "valid": 1, "test": 1, "labels": 0,
        "loops": 1, "repeated_in_a_split": 1, "in_train_and_held_out": 0, "in_valid_and_test": 0,
    }  # fmt: skip
    # 45 distinct triples have 90 ends. e09 is head and tail of a loop, and of two of the ring.
    degrees = facts["degrees"]
    assert degrees["triples"]["mean"] == pytest.approx(90 / 40)
    assert (degrees["triples"]["min"], degrees["triples"]["max"]) == (2, 4)
    assert degrees["as head"]["mean"] == pytest.approx(45 / 40)
    following, skipping = facts["relations"]
    assert following["relation"] == "next"
    assert following["heads_per_tail"] == pytest.approx(41 / 40)
    assert following["category"] == "1-1"
    assert skipping == {
        "relation": "skip", "train": 2, "valid": 1, "test": 1, "heads_per_tail": 1.0,
        "tails_per_head": 1.0, "category": "1-1", "symmetric_share": 0.0,
    }  # fmt: skip


def test_labelled_negatives_are_counted():
    negatives = {"valid": [("e00", "skip", "e03"), ("e01", "skip", "e09")], "test": skips(1)}
    facts = describe(graph_of(RING, negatives=negatives))
    assert facts["counts"]["valid_negatives"] == 2
    assert facts["counts"]["test_negatives"] == 1
    assert "labelled negatives: valid 2, test 1" in description_text(facts).splitlines()


def test_a_sound_graph_has_no_warnings():
    """400 triples in valid and test make a Hits@10 known to 4.9 points."""
    rows = [
        (f"e{i:03d}", f"r{step}", f"e{(i + step) % 400:03d}")
        for step in (1, 3, 7)
        for i in range(400)
    ]
    held = [(f"e{i:03d}", "r1", f"e{(i + 90 + j) % 400:03d}") for i in range(400) for j in (0, 5)]
    facts = describe(graph_of(rows, held[::2], held[1::2]))
    assert facts["warnings"] == {}
    assert description_text(facts).endswith("No warnings.")


@pytest.mark.parametrize(
    ("train", "held", "subject", "message"),
    [
        (skips(3), {}, "rare_relations", r"than 10 train triples for 1 relation \(skip\): too few"),
        ([], {}, "unseen_valid", r"valid has 1 relation \(skip\) that .* in 1 triple:"),
        (
            skips(12),
            {"test": [("new", "skip", "e00"), ("newer", "next", "e00")]},
            "unseen_test",
            r"test has 2 entities \(new, newer\) that train does not have, in 2 triples: .*Move",
        ),
        (skips(12), {"valid": RING[:2]}, "in_train_and_held_out", "2 triples of valid and test"),
        ([*skips(12), *RING[:3]], {}, "repeated_triples", "3 repetitions of triples"),
        (
            [*skips(12), *[("e01", "next", f"leaf{i}") for i in range(8)]],
            {},
            "entities_with_one_triple",
            r"one triple for 8 entities \(17%: leaf0, leaf1, leaf2, \.\.\.\)",
        ),
        (
            [*skips(12), *[(h, "next", "e03") for h in ("E03 ", "cafe\u0301", "café")]],
            {},
            "entities_alike",
            r"Names of entities in more than one spelling: 2 \('E03 ', 'e03'",
        ),
        # 98 / sqrt(1) points.
        (skips(12), {}, "small_test", "test has 1 triple: .* known to ±98 points"),
],
)  # fmt: skip
def test_warnings(train, held, subject, message):
    warnings = describe(graph_of([*RING, *train], **held))["warnings"]
    assert re.search(message, warnings[subject]), warnings


def test_leakage_is_warned_of_and_shown():
    back = [(tail, "previous", head) for head, _, tail in RING]
    facts = describe(graph_of([*RING, *back[:30]], back[30:35], back[35:]))
    assert facts["leakage"]["test"]["share"] == 1.0
    assert facts["warnings"]["leakage_test"].startswith(
        "100.0% of the test triples have an inverse, duplicate or symmetric twin in train; looking"
        " it up reaches Hits@1 100.0%."
    )
    text = description_text(facts).splitlines()
    assert "inverse        next  previous            40       100.0%    100.0%" in text
    assert "test            100.0%          1.0000  1.0000  1.0000" in text


def test_train_has_what_is_at_either_end_of_its_triples():
    train = [*RING, *skips(12), ("e00", "next", "leaf"), ("root", "next", "e00")]
    facts = describe(graph_of(train, test=[("leaf", "skip", "e05"), ("e05", "skip", "root")]))
    assert facts["unseen"]["test"]["num_triples"] == 0
