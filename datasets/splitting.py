"""Splitting triples into train, valid and test."""

import dataclasses

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
        rows = rng.permutation(len(triples))[: sum(wanted.values())]
        sizes = np.ones(len(rows), np.int64)
    else:
        rows, sizes = _shuffled(_groups(triples, num_entities, num_relations), rng)
        ids = triples[rows] + np.array([0, num_entities, 0])
        taken = _held_out(ids, sizes, sum(wanted.values()))
        rows, sizes = rows[np.repeat(taken, sizes)], sizes[taken]
    is_test = np.repeat(_for_test(sizes, wanted["test"], sum(wanted.values())), sizes)
    test, valid = np.sort(rows[is_test]), np.sort(rows[~is_test])
    is_train = np.ones(len(triples), bool)
    is_train[valid] = is_train[test] = False
    splits = {"train": np.flatnonzero(is_train), "valid": valid, "test": test}
    _check(splits, len(triples), options.method)
    return splits


def _groups(triples: np.ndarray, num_entities: int, num_relations: int) -> np.ndarray:
    """Returns [num_triples]: the same number for triples that have to stay together."""
    clusters = overlaps(triples, num_relations).suspected().clusters()[triples[:, 1]]
    low, high = np.minimum(triples[:, 0], triples[:, 2]), np.maximum(triples[:, 0], triples[:, 2])
    keys = triple_keys(np.stack([low, clusters, high], axis=1), num_entities, num_relations)
    return np.unique(keys, return_inverse=True)[1]


def _shuffled(groups: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Returns the rows of all groups, the groups in random order, and their sizes."""
    places = rng.permutation(groups.max(initial=-1) + 1)[groups]
    return np.argsort(places, kind="stable"), np.bincount(places)


def _held_out(ids: np.ndarray, sizes: np.ndarray, wanted: int) -> np.ndarray:
    """Returns which groups are held out, `[num_groups]` bool: the first that can be.

    Args:
        ids: `[num_triples, 3]`: the triples of all groups, one group after another. No entity has
            the number of a relation.
        sizes: `[num_groups]`: triples of each group.
        wanted: Triples to hold out, at most.
    """
    numbers = ids.reshape(-1)
    left = np.bincount(numbers).tolist()
    taken = np.zeros(len(sizes), bool)
    start = 0
    for group, size in enumerate(sizes.tolist()):
        end = start + 3 * size
        if size <= wanted and _take(numbers[start:end].tolist(), left):
            taken[group] = True
            wanted -= size
        start = end
    return taken


def _take(ids: list[int], left: list[int]) -> bool:
    """Takes the ids of a group off the counts, if none of them comes down to 0."""
    for number in ids:
        left[number] -= 1
    if all(map(left.__getitem__, ids)):
        return True
    for number in ids:
        left[number] += 1
    return False


def _for_test(sizes: np.ndarray, test: int, total: int) -> np.ndarray:
    """Returns which groups are for the test split, so that it has `test` of `total` triples."""
    left = max(1, round(sizes.sum() * test / total))
    chosen = []
    for size in sizes.tolist():
        chosen.append(size <= left)
        left -= size if chosen[-1] else 0
    return np.array(chosen, bool)


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
