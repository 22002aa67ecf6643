"""Splitting triples into train, valid and test."""

import dataclasses
from collections.abc import Iterable, Iterator

import numpy as np

from datasets.twins import overlaps
from quatre_tf.data.triple_keys import triple_keys
from quatre_tf.errors import DataError

METHODS = ("leakage_aware", "random")


@dataclasses.dataclass(frozen=True)
class SplitOptions:
    """How to split.

    Attributes:
        method: `"leakage_aware"`: twins (`datasets.twins`) stay together, and train has every
            entity and relation. `"random"`: any triple anywhere.
        valid_share: Part of the triples that validation gets.
        test_share: Part that the test split gets.
        seed: Of the drawing: the same triples, options and seed give the same split.

    Raises:
        DataError: The method is unknown, or the shares leave nothing for one of the splits.
    """

    method: str = "leakage_aware"
    valid_share: float = 0.1
    test_share: float = 0.1
    seed: int = 1

    def __str__(self) -> str:
        shares = f"{self.valid_share:.0%} for valid, {self.test_share:.0%} for test"
        return f"{self.method}, {shares}, seed {self.seed}"

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise DataError(f"Unknown split {self.method!r}. Available: {', '.join(METHODS)}.")
        shares = (self.valid_share, self.test_share)
        if not (min(shares) > 0 and sum(shares) < 1):
            raise DataError(
                "Expected shares of valid and test above 0, together below 1. Received:"
                f" {self.valid_share} and {self.test_share}."
            )
        if self.seed < 0:
            raise DataError(f"Expected a seed of at least 0, received {self.seed}.")


def split_triples(
    triples: np.ndarray, num_entities: int, num_relations: int, options: SplitOptions
) -> dict[str, np.ndarray]:
    """Returns the rows of train, valid and test: three ascending arrays that share no row.

    Leakage-aware, triples with the same two entities under relations that twins connect are one
    group. Groups come in random order, and one is held out if train keeps a triple of each of its
    entities and relations without it. When that ends before the shares are reached, valid and test
    are smaller, in the same proportion.

    Args:
        triples: [num_triples, 3] ids, distinct.
        num_entities: Entity ids are below it.
        num_relations: Relation ids are below it.
        options: How to split.

    Raises:
        DataError: No triple is left for one of the splits.
    """
    wanted = {
        "valid": max(1, round(options.valid_share * len(triples))),
        "test": max(1, round(options.test_share * len(triples))),
    }
    rng = np.random.default_rng(options.seed)
    if options.method == "random":
        held = [[row] for row in rng.permutation(len(triples))[: sum(wanted.values())].tolist()]
    else:
        groups = _shuffled(_groups(triples, num_entities, num_relations), rng)
        held = _held_out(triples, groups, sum(wanted.values()))
    test, valid = _share_out(held, wanted["test"], sum(wanted.values()))
    rest = np.setdiff1d(np.arange(len(triples)), np.concatenate([valid, test]))
    splits = {"train": rest, "valid": valid, "test": test}
    _check(splits, len(triples), options.method)
    return splits


def _groups(triples: np.ndarray, num_entities: int, num_relations: int) -> np.ndarray:
    """Returns [num_triples]: the same number for triples that have to stay together."""
    clusters = overlaps(triples, num_relations).suspected().clusters()[triples[:, 1]]
    low, high = np.minimum(triples[:, 0], triples[:, 2]), np.maximum(triples[:, 0], triples[:, 2])
    keys = triple_keys(np.stack([low, clusters, high], axis=1), num_entities, num_relations)
    return np.unique(keys, return_inverse=True)[1]


def _shuffled(groups: np.ndarray, rng: np.random.Generator) -> Iterator[list[int]]:
    """Yields the rows of each group, the groups in random order, whatever their sizes."""
    places = rng.permutation(groups.max(initial=-1) + 1)[groups]
    rows = np.argsort(places, kind="stable").tolist()
    ends = np.cumsum(np.bincount(places)).tolist()
    start = 0
    for end in ends:
        yield rows[start:end]
        start = end


def _held_out(triples: np.ndarray, groups: Iterable[list[int]], wanted: int) -> list[list[int]]:
    """Returns groups that can be held out, together at most `wanted` triples."""
    rows = triples.tolist()
    entities = np.bincount(triples[:, [0, 2]].reshape(-1)).tolist()
    relations = np.bincount(triples[:, 1]).tolist()
    held = []
    for group in groups:
        if len(group) <= wanted and _take([rows[row] for row in group], entities, relations):
            held.append(group)
            wanted -= len(group)
            if not wanted:
                break
    return held


def _take(group: list[list[int]], entities: list[int], relations: list[int]) -> bool:
    """Takes a group's triples off the counts, if none of them comes down to 0."""
    for head, relation, tail in group:
        entities[head] -= 1
        entities[tail] -= 1
        relations[relation] -= 1
    if all(
        entities[head] and relations[relation] and entities[tail] for head, relation, tail in group
    ):
        return True
    for head, relation, tail in group:
        entities[head] += 1
        entities[tail] += 1
        relations[relation] += 1
    return False


def _share_out(held: list[list[int]], test: int, total: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the rows of test and of valid, in the proportion test : total - test."""
    left = max(1, round(sum(map(len, held)) * test / total))
    parts: tuple[list[int], list[int]] = [], []
    for group in held:
        fits = len(group) <= left
        parts[0 if fits else 1].extend(group)
        left -= len(group) if fits else 0
    return np.sort(np.array(parts[0], np.int64)), np.sort(np.array(parts[1], np.int64))


def _check(splits: dict[str, np.ndarray], num_triples: int, method: str) -> None:
    empty = [name for name, rows in splits.items() if not len(rows)]
    if empty:
        nothing = f"Nothing is left for {' and '.join(empty)}: of {num_triples:,} triples too few"
        if method == "random":
            raise DataError(f"{nothing} fall to them. Add triples, or give them larger shares.")
        raise DataError(
            f"{nothing} can be held out, when train is to keep every entity and relation and twins"
            " stay together. Add triples; or --split=random, which takes any triple."
        )
