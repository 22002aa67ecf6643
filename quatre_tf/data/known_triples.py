"""Known triples by (relation, entity), in compressed sparse rows (CSR).

Answers "which tails complete (head, relation, ?)" for many queries at once, without a Python
dictionary and without a dense mask: filters of the ranking and the corruption are built on it.
"""

import dataclasses

import numpy as np

from quatre_tf.errors import DataError

_HEAD, _RELATION, _TAIL = range(3)
_MAX_KEY = np.iinfo(np.int64).max


@dataclasses.dataclass(frozen=True, eq=False)
class KnownTriples:
    """Known entities, grouped by (relation, entity at the other side).

    The entities of group g are `entities[row_splits[g] : row_splits[g + 1]]`.

    Attributes:
        keys: [groups] int64, ascending: relation * num_entities + entity.
        row_splits: [groups + 1] int64, ascending, from 0 to the number of known entities.
        entities: [known] int32, ascending inside each group, without duplicates.
    """

    keys: np.ndarray
    row_splits: np.ndarray
    entities: np.ndarray

    @property
    def group_sizes(self) -> np.ndarray:
        """Number of known entities of each group: [groups] int64, never 0."""
        return np.diff(self.row_splits)

    def list_keys(self, num_entities: int) -> np.ndarray:
        """Returns the groups as the sorted lists of ranking: [known] int64.

        The keys are `group * num_entities + entity`, see `quatre_tf.ranking.entity_lists`.
        """
        groups = np.repeat(np.arange(len(self.keys)), self.group_sizes)
        return groups * num_entities + self.entities


def index_tails(triples: np.ndarray, num_entities: int) -> KnownTriples:
    """Groups the tails of triples by (relation, head).

    Args:
        triples: [num_triples, 3] ids: head, relation, tail; in any order, with or without repeats.
        num_entities: All entity ids are below it.

    Raises:
        DataError: When an id is out of range, or the keys do not fit into 64 bits.
    """
    return _index(triples, num_entities, _HEAD, _TAIL)


def index_heads(triples: np.ndarray, num_entities: int) -> KnownTriples:
    """Groups the heads of triples by (relation, tail); otherwise like `index_tails`."""
    return _index(triples, num_entities, _TAIL, _HEAD)


def group_keys(relations: np.ndarray, entities: np.ndarray, num_entities: int) -> np.ndarray:
    """Returns the keys of (relation, entity) pairs as in `KnownTriples.keys`: int64."""
    return relations.astype(np.int64) * num_entities + entities


def _index(triples: np.ndarray, num_entities: int, given: int, wanted: int) -> KnownTriples:
    _check_ids(triples, num_entities)
    pairs = group_keys(triples[:, _RELATION], triples[:, given], num_entities)
    if int(pairs.max(initial=0)) < _MAX_KEY // num_entities:
        # A group and its entity fit into one number.
        known = _distinct(pairs * num_entities + triples[:, wanted])
        pairs, entities = np.divmod(known, num_entities)
        starts = _run_starts(pairs)
        keys = pairs[starts]
    else:
        keys, groups = np.unique(pairs, return_inverse=True)
        _check_range(len(keys), num_entities)
        # The rank of a group stands in for its key.
        known = _distinct(groups.reshape(-1) * np.int64(num_entities) + triples[:, wanted])
        groups, entities = np.divmod(known, num_entities)
        starts = _run_starts(groups)
    row_splits = np.append(starts, len(known)).astype(np.int64)
    return KnownTriples(keys, row_splits, entities.astype(np.int32))


def _distinct(values: np.ndarray) -> np.ndarray:
    """Returns the distinct values, ascending; sorts in place: no copy, and `values` is used up."""
    values.sort()
    return values[_run_starts(values)]


def _run_starts(values: np.ndarray) -> np.ndarray:
    """Returns the places where runs of equal neighbours start."""
    return np.flatnonzero(np.r_[True, values[1:] != values[:-1]][: len(values)])


def _check_ids(triples: np.ndarray, num_entities: int) -> None:
    if triples.ndim != 2 or triples.shape[1] != 3:
        raise DataError(f"Expected triples [num_triples, 3], received {list(triples.shape)}.")
    if not len(triples):
        return
    entities = triples[:, [_HEAD, _TAIL]]
    if triples.min() < 0 or entities.max() >= num_entities:
        raise DataError(
            f"Expected entity ids in [0, {num_entities}) and no negative relation ids, received"
            f" entities {entities.min()} to {entities.max()}, relations from"
            f" {triples[:, _RELATION].min()}."
        )
    _check_range(int(triples[:, _RELATION].max()) + 1, num_entities)


def _check_range(rows: int, num_entities: int) -> None:
    if rows * int(num_entities) > _MAX_KEY:
        raise DataError(
            f"{rows:,} x {num_entities:,} keys do not fit into 64 bits: the graph is too large."
        )
