"""The table and the split files of `countries`, read here without the code that made them."""

import collections
import csv
import unicodedata

import pytest

from datasets.countries import DIRECTORY, SPLITS, generate
from datasets.countries.split import QUESTION

REGIONS = {"Africa": 54, "Americas": 35, "Asia": 49, "Europe": 45, "Oceania": 14}
# The members and observers of the United Nations, Kosovo and Taiwan.
NUM_COUNTRIES = 193 + 2 + 2


@pytest.fixture(scope="module")
def rows():
    with (DIRECTORY / "countries.tsv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


@pytest.fixture(scope="module")
def splits():
    return {
        name: [
            tuple(line.split("\t"))
            for line in (DIRECTORY / f"{name}.txt").read_text("utf-8").splitlines()
        ]
        for name in SPLITS
    }


@pytest.fixture(scope="module")
def train(splits):
    return set(splits["train"])


@pytest.fixture(scope="module")
def held_out(splits):
    return splits["valid"] + splits["test"]


def as_list(cell):
    return [] if cell == "-" else cell.split(";")


def test_has_every_country_once(rows):
    names = [row["country"] for row in rows]
    assert len(names) == len(set(names)) == NUM_COUNTRIES
    assert names == sorted(names)
    assert collections.Counter(row["region"] for row in rows) == REGIONS


def test_every_cell_is_filled_and_clean(rows):
    for row in rows:
        assert len(row) == 7
        for cell in row.values():
            for name in as_list(cell):
                assert name
                assert name == name.strip() == unicodedata.normalize("NFC", name)
            assert len(as_list(cell)) == len(set(as_list(cell)))
        assert "-" not in (row["languages"], row["currencies"])


def test_borders_are_symmetric(rows):
    borders = {(row["country"], name) for row in rows for name in as_list(row["neighbours"])}
    assert borders == {(neighbour, name) for name, neighbour in borders}
    assert not any(name == neighbour for name, neighbour in borders)


def test_each_entity_is_of_one_kind(rows):
    kinds = collections.defaultdict(set)
    for row in rows:
        for column in ("country", "capital", "subregion", "region", "languages", "currencies"):
            for name in as_list(row[column]):
                kinds[name].add(column)
        for name in as_list(row["neighbours"]):
            kinds[name].add("country")
    assert {name: of for name, of in kinds.items() if len(of) > 1} == {}


def test_capitals_are_distinct_and_subregions_lie_in_one_region(rows):
    assert len({row["capital"] for row in rows}) == NUM_COUNTRIES
    subregions = {row["subregion"] for row in rows}
    assert len(subregions) == len({(row["subregion"], row["region"]) for row in rows}) == 22


def test_splits_are_the_facts_of_the_table(rows, splits):
    facts = set()
    for row in rows:
        name = row["country"]
        facts.add((name, "has_capital", row["capital"]))
        facts.add((row["capital"], "located_in", name))
        facts |= {(name, "located_in", row[column]) for column in ("subregion", "region")}
        facts.add((row["subregion"], "located_in", row["region"]))
        facts |= {(name, "borders", other) for other in as_list(row["neighbours"])}
        facts |= {(name, "official_language", other) for other in as_list(row["languages"])}
        facts |= {(name, "currency", other) for other in as_list(row["currencies"])}
    everything = [fact for name in SPLITS for fact in splits[name]]
    assert len(everything) == len(set(everything))
    assert set(everything) == facts


@pytest.mark.parametrize("name", SPLITS)
def test_committed_files_are_what_the_table_gives(name):
    expected = generate.file_text(generate.generate()[name]).encode("utf-8")
    assert (DIRECTORY / f"{name}.txt").read_bytes() == expected


@pytest.mark.parametrize("name", SPLITS)
def test_files_are_sorted_with_one_final_newline(name, splits):
    data = (DIRECTORY / f"{name}.txt").read_bytes()
    assert data.endswith(b"\n")
    assert not data.endswith(b"\n\n")
    assert b"\r" not in data
    assert splits[name] == sorted(splits[name])
    assert all(len(triple) == 3 for triple in splits[name])


def test_held_out_facts_are_many_and_mixed(splits):
    for name in ("valid", "test"):
        relations = collections.Counter(relation for _, relation, _ in splits[name])
        assert set(relations) == {"borders", "currency", "located_in", "official_language"}
        assert 150 <= relations.total() <= 250
        assert min(relations.values()) >= 10


def test_train_knows_every_name(train, held_out):
    entities = {name for head, _, tail in train for name in (head, tail)}
    assert {name for head, _, tail in held_out for name in (head, tail)} <= entities
    assert {relation for _, relation, _ in held_out} <= {relation for _, relation, _ in train}


def test_a_country_loses_at_most_one_fact_besides_borders(held_out):
    losses = collections.Counter(head for head, relation, _ in held_out if relation != "borders")
    assert max(losses.values()) == 1


def test_the_question_of_the_quick_start_is_in_test(splits):
    head, relation, _ = QUESTION
    assert QUESTION in splits["test"]
    assert not [fact for fact in splits["train"] if fact[:2] == (head, relation)]


def is_inferable(fact, train):
    """Tells whether `fact` follows from train facts, by its own reading of the README."""
    head, relation, tail = fact
    if relation == "borders":
        return (tail, "borders", head) in train
    neighbours = {other for name, known, other in train if (name, known) == (head, "borders")}
    agreeing = {name for name in neighbours if (name, relation, tail) in train}
    places = {place for name, known, place in train if (name, known) == (head, "located_in")}
    if relation == "located_in":
        return (
            (tail, "has_capital", head) in train
            or any((place, "located_in", tail) in train for place in places)
            or (len(agreeing) >= 2 and len(agreeing) > len(neighbours - agreeing))
        )
    regions = {tail for head, known, tail in train if known == "located_in" and head in places}
    members = {
        name
        for name, known, place in train
        if known == "located_in" and place in places - regions and name != head
    }
    witnesses = {name for name in members if (name, relation, tail) in train}
    return len(agreeing) >= 2 or (len(witnesses) >= 2 and 3 * len(witnesses) >= len(members))


def test_every_held_out_fact_is_inferable_from_train(train, held_out):
    assert [fact for fact in held_out if not is_inferable(fact, train)] == []


@pytest.mark.parametrize(
    "fact",
    [
        ("France", "has_capital", "Paris"),
        ("Japan", "currency", "Japanese Yen"),
        ("Western Europe", "located_in", "Europe"),
        ("Nairobi", "located_in", "Kenya"),
        ("South Korea", "official_language", "Korean"),
        ("Bulgaria", "currency", "Euro"),
        ("Zambia", "borders", "Botswana"),
        ("Singapore", "has_capital", "Singapore City"),
    ],
)
def test_states_well_known_facts(fact, train, held_out):
    assert fact in train | set(held_out)


def test_readme_has_the_counts(splits):
    readme = (DIRECTORY / "README.md").read_text(encoding="utf-8")
    assert generate.counts_table(splits) in readme
    entities = {name for of in splits.values() for head, _, tail in of for name in (head, tail)}
    assert f"{len(entities)} entities" in readme


def test_main_writes_the_splits(tmp_path, monkeypatch, capsys, splits):
    monkeypatch.setattr(generate, "DIRECTORY", tmp_path)
    generate.main(["generate"])
    for name in SPLITS:
        file = f"{name}.txt"
        assert (tmp_path / file).read_bytes() == (DIRECTORY / file).read_bytes()
    assert capsys.readouterr().out.strip() == generate.counts_table(splits)


def test_main_refuses_arguments():
    with pytest.raises(SystemExit, match=r"Expected no arguments\. Received: --force"):
        generate.main(["generate", "--force"])
