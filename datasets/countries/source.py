"""The table of countries, and the facts that its rows state."""

import collections
import dataclasses
import pathlib
from collections.abc import Iterable, Iterator, Sequence

from datasets.countries import DIRECTORY
from quatre_tf.errors import DataError

Triple = tuple[str, str, str]

HAS_CAPITAL = "has_capital"
LOCATED_IN = "located_in"
BORDERS = "borders"
OFFICIAL_LANGUAGE = "official_language"
CURRENCY = "currency"

PATH = DIRECTORY / "countries.tsv"
# A cell is never empty: so a column that was forgotten differs from an island.
NOTHING = "-"


@dataclasses.dataclass(frozen=True)
class Country:
    """A row of the table; the fields are its columns, in order."""

    country: str
    capital: str
    subregion: str
    region: str
    neighbours: tuple[str, ...]
    languages: tuple[str, ...]
    currencies: tuple[str, ...]

    @classmethod
    def parse(cls, line: str) -> "Country":
        """Returns the country of a line; raises DataError unless every column is filled."""
        cells = line.split("\t")
        if len(cells) != len(_COLUMNS) or not all(cells):
            raise DataError(f"Expected the columns {_COLUMNS}, all filled. Received: {line!r}")
        country, capital, subregion, region, *lists = cells
        neighbours, languages, currencies = map(_parse_list, lists)
        return cls(country, capital, subregion, region, neighbours, languages, currencies)

    def facts(self) -> Iterator[Triple]:
        """Yields the triples that the row states."""
        yield self.country, HAS_CAPITAL, self.capital
        yield self.capital, LOCATED_IN, self.country
        yield self.country, LOCATED_IN, self.subregion
        yield self.country, LOCATED_IN, self.region
        yield self.subregion, LOCATED_IN, self.region
        for relation, tails in (
            (BORDERS, self.neighbours),
            (OFFICIAL_LANGUAGE, self.languages),
            (CURRENCY, self.currencies),
        ):
            for tail in tails:
                yield self.country, relation, tail

    def names(self) -> Iterator[tuple[str, str]]:
        """Yields the entities of the row, each with its kind."""
        yield self.country, "country"
        yield self.capital, "city"
        yield self.subregion, "subregion"
        yield self.region, "region"
        yield from ((name, "language") for name in self.languages)
        yield from ((name, "currency") for name in self.currencies)


_COLUMNS = [field.name for field in dataclasses.fields(Country)]


def read_countries(path: pathlib.Path = PATH) -> list[Country]:
    """Reads the table and checks it.

    Raises:
        DataError: When a column is missing or empty, a border is one-sided, or a name stands for
            two things. The message lists every problem.
    """
    header, *lines = path.read_text(encoding="utf-8").splitlines() or [""]
    if header.split("\t") != _COLUMNS:
        raise DataError(f"{path.name}: expected the columns {_COLUMNS}. Received: {header!r}")
    countries = [Country.parse(line) for line in lines]
    problems = [*_one_sided_borders(countries), *_ambiguous_names(countries)]
    if problems:
        raise DataError(f"{path.name}: " + " ".join(problems))
    return countries


def all_facts(countries: Iterable[Country]) -> set[Triple]:
    """Returns the triples of the whole table."""
    return {fact for country in countries for fact in country.facts()}


def _parse_list(cell: str) -> tuple[str, ...]:
    return () if cell == NOTHING else tuple(cell.split(";"))


def _one_sided_borders(countries: Sequence[Country]) -> Iterator[str]:
    neighbours = {country.country: country.neighbours for country in countries}
    for name, others in neighbours.items():
        for other in others:
            if name not in neighbours.get(other, ()):
                yield f"{name!r} lists the neighbour {other!r}, which does not list {name!r}."


def _ambiguous_names(countries: Sequence[Country]) -> Iterator[str]:
    # One vocabulary holds all entities: a city called like its country would be that country.
    kinds = collections.defaultdict(set)
    for country in countries:
        for name, kind in country.names():
            kinds[name].add(kind)
    for name, of_name in kinds.items():
        if len(of_name) > 1:
            yield f"{name!r} stands for {sorted(of_name)}: give each its own name."
