"""The rules of `countries` on graphs small enough to read, and the checks of its table."""

import pytest

from datasets.countries import rules
from datasets.countries.source import all_facts, read_countries
from datasets.countries.split import split
from quatre_tf.errors import DataError

HEADER = "country\tcapital\tsubregion\tregion\tneighbours\tlanguages\tcurrencies"
NORTH = "Northland\tNorth City\tInner\tOuter\tSouthland\tNorthern;Common\tCrown"
SOUTH = "Southland\tSouth City\tInner\tOuter\tNorthland\tCommon\tCrown"


def facts_of(text):
    return rules.Facts(tuple(fact.split()) for fact in text.split(";"))


@pytest.mark.parametrize(
    ("rule", "train", "fact", "proof"),
    [
        (rules.border_seen_from_the_other_side, "B borders A", "A borders B", "B borders A"),
        (rules.border_seen_from_the_other_side, "B borders C", "A borders B", None),
        (
            rules.capital_lies_in_its_country,
            "A has_capital C",
            "C located_in A",
            "A has_capital C",
        ),
        (rules.capital_lies_in_its_country, "B has_capital C", "C located_in A", None),
        (
            rules.region_of_the_subregion,
            "A located_in S;S located_in R",
            "A located_in R",
            "A located_in S;S located_in R",
        ),
        (
            rules.region_of_the_subregion,
            "A located_in S;S located_in Q",
            "A located_in R",
            None,
        ),
    ],
)
def test_rules_of_one_witness(rule, train, fact, proof):
    expected = None if proof is None else [tuple(line.split()) for line in proof.split(";")]
    assert rule(facts_of(train), tuple(fact.split())) == expected


PLACES = "S located_in R;A located_in R;B located_in S;C located_in S"


@pytest.mark.parametrize(
    ("train", "inferable"),
    [
        (f"{PLACES};A borders B;A borders C", True),
        (f"{PLACES};A borders B;A borders C;A borders D", True),
        (f"{PLACES};A borders B;A borders C;A borders D;A borders E", False),
        (f"{PLACES};A borders B", False),
        ("S located_in R;B located_in S;C located_in S;A borders B;A borders C", False),
    ],
    ids=["all", "most", "half", "one", "other region"],
)
def test_subregion_needs_most_neighbours(train, inferable):
    facts = facts_of(train)
    proof = rules.subregion_of_most_neighbours(facts, ("A", "located_in", "S"))
    assert bool(proof) == inferable
    assert all(fact in facts for fact in proof or ())


def test_two_neighbours_share_a_value():
    facts = facts_of("A borders B;A borders C;B currency M;C currency M;D currency N;A borders D")
    assert rules.shared_with_neighbours(facts, ("A", "currency", "M")) == [
        ("A", "borders", "B"),
        ("B", "currency", "M"),
        ("A", "borders", "C"),
        ("C", "currency", "M"),
    ]
    assert rules.shared_with_neighbours(facts, ("A", "currency", "N")) is None


@pytest.mark.parametrize(("others", "inferable"), [("BCDEFG", True), ("BCDEFGH", False)])
def test_a_third_of_the_subregion_shares_a_value(others, inferable):
    places = ";".join(f"{name} located_in S" for name in "A" + others)
    facts = facts_of(f"S located_in R;{places};B currency M;C currency M")
    proof = rules.shared_in_subregion(facts, ("A", "currency", "M"))
    assert bool(proof) == inferable


def test_a_region_is_too_large_to_share_a_value():
    facts = facts_of("A located_in R;B located_in R;C located_in R;B currency M;C currency M")
    assert rules.shared_in_subregion(facts, ("A", "currency", "M")) is None


def test_proofs_stay_in_train_whatever_the_order():
    facts = [("A", "borders", "B"), ("B", "borders", "A")]
    for order in (facts, facts[::-1]):
        result = split(order)
        assert len(result["train"]) == 1
        assert len(result["test"]) == 1
    assert split(facts) == split(facts[::-1])


def write(tmp_path, *lines):
    path = tmp_path / "countries.tsv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_reads_a_table(tmp_path):
    countries = read_countries(write(tmp_path, HEADER, NORTH, SOUTH))
    assert [country.languages for country in countries] == [("Northern", "Common"), ("Common",)]
    assert len(all_facts(countries)) == 2 * 4 + 1 + 2 + 3 + 2


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "expected the columns"),
        (["country\tcapital"], "expected the columns"),
        ([HEADER, NORTH.replace("\tCrown", "")], "all filled"),
        ([HEADER, NORTH.replace("Crown", ""), SOUTH], "all filled"),
        ([HEADER, NORTH], "'Northland' lists the neighbour 'Southland', which does not list"),
        (
            [HEADER, NORTH.replace("North City", "Northland"), SOUTH],
            r"'Northland' stands for \['city', 'country'\]",
        ),
    ],
)
def test_bad_tables_are_refused(tmp_path, lines, message):
    with pytest.raises(DataError, match=message):
        read_countries(write(tmp_path, *lines))
