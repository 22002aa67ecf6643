"""Triples that ask one query are ranked by one column of scores.

The tails of (h, r) and the heads of (r, t) are often asked for more than once in a split: FB15k-237
has .67 and .45 distinct queries a test triple.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

# More targets a query hardly save scores, and the comparisons with the last ones are for few.
_DEPTH = 4


class QueryTile(NamedTuple):
    """Distinct queries that are scored together; of triples `[n]`.

    Attributes:
        queries: `[batch]`, a triple that asks each query; those of more triples come first.
        asked: `[depth, batch]`, the triples that ask it; -1 where it has fewer.
    """

    queries: np.ndarray
    asked: np.ndarray


def share_queries(keys: np.ndarray, batch_size: int) -> Iterator[QueryTile]:
    """Yields tiles that have every triple once.

    A query of more triples than a tile's depth comes again.

    Args:
        keys: `[n]` integers, of triples: equal ones ask the same query. In a tile are neighbours.
        batch_size: Most queries in a tile.
    """
    order = np.argsort(keys, kind="stable")
    is_new = np.ones(len(keys), bool)
    is_new[1:] = np.diff(keys[order]) != 0
    # The place of a triple among those of its query.
    first_of_query = np.flatnonzero(is_new)[np.cumsum(is_new) - 1]
    places = (np.arange(len(keys)) - first_of_query) % _DEPTH
    firsts = np.flatnonzero(places == 0)
    sizes = np.diff(np.append(firsts, len(keys)))
    longest_first = np.argsort(-sizes, kind="stable")
    firsts, sizes = firsts[longest_first], sizes[longest_first]
    for start in range(0, len(firsts), batch_size):
        part = slice(start, start + batch_size)
        depths = np.arange(sizes[start])[:, np.newaxis]
        found = np.minimum(firsts[part] + depths, len(keys) - 1)
        asked = np.where(depths < sizes[part], order[found], -1)
        yield QueryTile(asked[0], asked)


def of_one_depth(tiles: list[QueryTile], count: int) -> list[QueryTile]:
    """Returns `count` tiles of the same depth: the given ones, then empty ones."""
    depth = max(len(tile.asked) for tile in tiles)
    nothing = QueryTile(np.zeros(0, np.int64), np.zeros([depth, 0], np.int64))
    missing = [((0, depth - len(tile.asked)), (0, 0)) for tile in tiles]
    filled = [
        tile._replace(asked=np.pad(tile.asked, widths, constant_values=-1))
        for tile, widths in zip(tiles, missing, strict=True)
    ]
    return filled + [nothing] * (count - len(tiles))
