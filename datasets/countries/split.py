"""The fixed split: which facts are held out.

Facts are visited in the order of their hash, so that the choice depends on the facts alone and a
new fact disturbs little. A fact is held out when a rule proves it from facts that are still in
train; its proof then stays in train for good.
"""

import hashlib
from collections.abc import Collection, Iterable

from datasets.countries import rules
from datasets.countries.source import (
    BORDERS,
    CURRENCY,
    LOCATED_IN,
    OFFICIAL_LANGUAGE,
    Triple,
)

# The question of the quick start, always in test: its answer surprises nobody. Libya and Palestine
# next door, and most of Northern Africa, give it away; Israel next door makes it a question.
QUESTION: Triple = ("Egypt", OFFICIAL_LANGUAGE, "Arabic")

# What may be held out, and why it can be inferred. Relations with few such facts come first:
# they have the first choice, before the proofs of others need their facts.
RULES: dict[str, list[rules.Rule]] = {
    CURRENCY: [rules.shared_with_neighbours, rules.shared_in_subregion],
    OFFICIAL_LANGUAGE: [rules.shared_with_neighbours, rules.shared_in_subregion],
    LOCATED_IN: [
        rules.subregion_of_most_neighbours,
        rules.region_of_the_subregion,
        rules.capital_lies_in_its_country,
    ],
    BORDERS: [rules.border_seen_from_the_other_side],
}

# The most facts that a rule may hold out, valid and test together: these rules apply to hundreds
# of facts and are easy, so they would drown the rest. The other rules are bounded by their proofs.
LIMITS: dict[rules.Rule, int] = {
    rules.border_seen_from_the_other_side: 110,
    rules.capital_lies_in_its_country: 80,
    rules.region_of_the_subregion: 60,
}


def split(facts: Collection[Triple]) -> dict[str, list[Triple]]:
    """Returns the sorted triples of "train", "valid" and "test".

    The three are disjoint and together they are `facts`.
    """
    held_out = _hold_out(facts)
    train = set(facts).difference(*held_out)
    # Every other one, rule by rule: both splits get the same mixture. QUESTION is the first of
    # its rule and lands in test.
    test = [fact for of_rule in held_out for fact in of_rule[::2]]
    valid = [fact for of_rule in held_out for fact in of_rule[1::2]]
    return {"train": sorted(train), "valid": sorted(valid), "test": sorted(test)}


def _hold_out(facts: Iterable[Triple]) -> list[list[Triple]]:
    """Returns, per relation and rule, the held-out facts in the order of their choice."""
    train = rules.Facts(facts)
    chosen: dict[tuple[str, rules.Rule], list[Triple]] = {
        (relation, rule): [] for relation in RULES for rule in RULES[relation]
    }
    needed: set[Triple] = set()
    robbed: set[str] = set()
    for fact in sorted((fact for fact in facts if fact[1] in RULES), key=_precedence):
        head, relation, _ = fact
        # A country that lost its region, language and currency at once could not be placed. It
        # may lose one of them, and borders, which are still told from the other side.
        if fact in needed or (relation != BORDERS and head in robbed):
            continue
        for rule in RULES[relation]:
            of_rule = chosen[relation, rule]
            full = len(of_rule) == LIMITS.get(rule)
            if not full and (proof := rule(train, fact)):
                of_rule.append(fact)
                train.remove(fact)
                needed.update(proof)
                robbed.add(head)
                break
    return list(chosen.values())


def _precedence(fact: Triple) -> tuple[bool, int, bytes]:
    digest = hashlib.sha256("\t".join(fact).encode()).digest()
    return fact != QUESTION, list(RULES).index(fact[1]), digest
