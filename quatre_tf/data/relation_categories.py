"""How many heads and tails a relation has for one another."""

import numpy as np

CATEGORIES = ("1-1", "1-M", "M-1", "M-M")
# Heads per tail, or tails per head, from which a side counts as "M" (Bordes et al., TransE, 2013).
_MANY = 1.5


def heads_and_tails(triples: np.ndarray, num_relations: int) -> np.ndarray:
    """Returns [num_relations, 2]: the mean number of heads per tail, and of tails per head.

    Repeated triples count once; 0 without triples.

    Args:
        triples: [num_triples, 3].
        num_relations: Relation ids are below it.
    """
    distinct = _distinct(triples[:, [1, 0, 2]])
    sizes = np.bincount(distinct[:, 0], minlength=num_relations)
    heads = _entities(distinct[:, [0, 1]], num_relations)
    tails = _entities(distinct[:, [0, 2]], num_relations)
    return sizes[:, np.newaxis] / np.maximum(np.stack([tails, heads], axis=1), 1)


def relation_categories(triples: np.ndarray, num_relations: int) -> np.ndarray:
    """Returns the category of each relation as an index into `CATEGORIES`, -1 without triples.

    With eta_h the mean number of heads per tail and eta_t that of tails per head: a side is "1"
    below 1.5 and "M" from there, the head's side (eta_h) first. Repeated triples count once.

    Args:
        triples: [num_triples, 3].
        num_relations: Relation ids are below it.
    """
    return categories(heads_and_tails(triples, num_relations))


def categories(means: np.ndarray) -> np.ndarray:
    """Returns `relation_categories` of what `heads_and_tails` returned."""
    many = means >= _MANY
    return np.where(means[:, 0] > 0, 2 * many[:, 0] + many[:, 1], -1)


def _entities(pairs: np.ndarray, num_relations: int) -> np.ndarray:
    """Returns [num_relations]: how many distinct entities each has, of (relation, entity)."""
    return np.bincount(_distinct(pairs)[:, 0], minlength=num_relations)


def _distinct(rows: np.ndarray) -> np.ndarray:
    """Returns the distinct rows, sorted; several times faster than `np.unique(rows, axis=0)`."""
    rows = rows[np.lexsort(rows.T[::-1])]
    return rows[np.r_[True, (rows[1:] != rows[:-1]).any(axis=1)][: len(rows)]]
