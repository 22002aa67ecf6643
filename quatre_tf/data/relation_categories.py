"""Categories of relations by their numbers of heads per tail and tails per head."""

import numpy as np

from quatre_tf.data.known_triples import KnownTriples

CATEGORIES = ("1-1", "1-M", "M-1", "M-M")
# Heads per tail, or tails per head, from which a side counts as "M" (Bordes et al., TransE, 2013).
_MANY = 1.5


def heads_and_tails(tails: KnownTriples, heads: KnownTriples, num_relations: int) -> np.ndarray:
    """Returns [num_relations, 2]: the mean number of heads per tail, and of tails per head.

    Repeated triples count once; 0 without triples.

    Args:
        tails: `index_tails` of the triples.
        heads: `index_heads` of the triples.
        num_relations: Relation ids are below it.
    """
    sizes = np.bincount(tails.keys // tails.num_entities, tails.group_sizes, num_relations)
    distinct = [index.groups_per_relation(num_relations) for index in (heads, tails)]
    return sizes[:, np.newaxis] / np.maximum(np.stack(distinct, axis=1), 1)


def relation_categories(means: np.ndarray) -> np.ndarray:
    """Returns the category of each relation as an index into `CATEGORIES`, -1 without triples.

    A side is "1" below 1.5 and "M" from there on; the head's side comes first.

    Args:
        means: Of `heads_and_tails`.
    """
    many = means >= _MANY
    return np.where(means[:, 0] > 0, 2 * many[:, 0] + many[:, 1], -1)
