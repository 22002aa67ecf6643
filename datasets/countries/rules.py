"""Why a held-out fact can be inferred: one function per rule.

A rule gets the facts that are in train and a fact that is to be held out. It returns the proof,
the train facts that it follows from, or None. Capitals, and whatever else follows from nothing,
have no rule and stay in train.
"""

import collections
from collections.abc import Callable, Iterable

from datasets.countries.source import BORDERS, HAS_CAPITAL, LOCATED_IN, Triple

# Below this many others that agree, a shared value is a coincidence.
_MIN_WITNESSES = 2

Proof = list[Triple]


class Facts:
    """A set of triples that answers (head, relation, ?) and (?, relation, tail).

    Args:
        triples: The facts; their order has no influence.
    """

    def __init__(self, triples: Iterable[Triple]):
        self._tails: dict[tuple[str, str], set[str]] = collections.defaultdict(set)
        self._heads: dict[tuple[str, str], set[str]] = collections.defaultdict(set)
        for head, relation, tail in triples:
            self._tails[head, relation].add(tail)
            self._heads[relation, tail].add(head)

    def __contains__(self, triple: Triple) -> bool:
        head, relation, tail = triple
        return tail in self._tails.get((head, relation), ())

    def remove(self, triple: Triple) -> None:
        """Forgets a fact; raises KeyError when it is not there."""
        head, relation, tail = triple
        self._tails[head, relation].remove(tail)
        self._heads[relation, tail].remove(head)

    def tails(self, head: str, relation: str) -> list[str]:
        """Returns the tails of (head, relation, ?), sorted."""
        return sorted(self._tails.get((head, relation), ()))

    def heads(self, relation: str, tail: str) -> list[str]:
        """Returns the heads of (?, relation, tail), sorted."""
        return sorted(self._heads.get((relation, tail), ()))


Rule = Callable[[Facts, Triple], Proof | None]


def border_seen_from_the_other_side(facts: Facts, fact: Triple) -> Proof | None:
    """A borders B, because B borders A."""
    proof = (fact[2], BORDERS, fact[0])
    return [proof] if proof in facts else None


def capital_lies_in_its_country(facts: Facts, fact: Triple) -> Proof | None:
    """C is located in A, because A has the capital C."""
    proof = (fact[2], HAS_CAPITAL, fact[0])
    return [proof] if proof in facts else None


def region_of_the_subregion(facts: Facts, fact: Triple) -> Proof | None:
    """A is located in the region R, because A is located in S, which is located in R."""
    country, _, region = fact
    for place in facts.tails(country, LOCATED_IN):
        if (place, LOCATED_IN, region) in facts:
            return [(country, LOCATED_IN, place), (place, LOCATED_IN, region)]
    return None


def subregion_of_most_neighbours(facts: Facts, fact: Triple) -> Proof | None:
    """A is located in S, because more than half of its neighbours are, and S lies in A's region."""
    country, _, subregion = fact
    proof = [
        (country, LOCATED_IN, region)
        for region in facts.tails(subregion, LOCATED_IN)
        if (country, LOCATED_IN, region) in facts
    ]
    neighbours = facts.tails(country, BORDERS)
    inside = [name for name in neighbours if (name, LOCATED_IN, subregion) in facts]
    if not proof or len(inside) < _MIN_WITNESSES or 2 * len(inside) <= len(neighbours):
        return None
    for name in inside:
        proof += [(country, BORDERS, name), (name, LOCATED_IN, subregion)]
    return proof


def shared_with_neighbours(facts: Facts, fact: Triple) -> Proof | None:
    """A speaks L (or pays in M), because two of its neighbours do."""
    country, relation, value = fact
    neighbours = facts.tails(country, BORDERS)
    witnesses = [name for name in neighbours if (name, relation, value) in facts]
    if len(witnesses) < _MIN_WITNESSES:
        return None
    proof = []
    for name in witnesses[:_MIN_WITNESSES]:
        proof += [(country, BORDERS, name), (name, relation, value)]
    return proof


def shared_in_subregion(facts: Facts, fact: Triple) -> Proof | None:
    """A speaks L (or pays in M), because a third of the countries of its subregion do."""
    country, relation, value = fact
    for subregion in facts.tails(country, LOCATED_IN):
        if not facts.tails(subregion, LOCATED_IN):
            continue  # A region: a third of a continent says nothing of one country.
        members = [name for name in facts.heads(LOCATED_IN, subregion) if name != country]
        witnesses = [name for name in members if (name, relation, value) in facts]
        needed = max(_MIN_WITNESSES, -(-len(members) // 3))
        if len(witnesses) >= needed:
            proof = [(country, LOCATED_IN, subregion)]
            for name in witnesses[:needed]:
                proof += [(name, LOCATED_IN, subregion), (name, relation, value)]
            return proof
    return None
