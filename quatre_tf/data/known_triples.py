"""Known triples by (relation, entity), in compressed sparse rows (CSR).

Answers "which tails complete (head, relation, ?)" for many queries at once, without a Python
dictionary and without a dense mask. `Graph.index` builds it once for ranking, corruption, batches,
candidate sets, exports and explanations.
"""

import dataclasses
import hashlib

import numpy as np

from quatre_tf.data.triple_keys import distinct, run_starts
from quatre_tf.errors import DataError

_HEAD, _RELATION, _TAIL = range(3)
_MAX_KEY = np.iinfo(np.int64).max
# Length of a SHA-256 in 64-bit integers.
_DIGEST = 4


@dataclasses.dataclass(frozen=True, eq=False)
class KnownTriples:
    """Known entities, grouped by (relation, entity at the other side).

    The entities of group g are `entities[row_splits[g] : row_splits[g + 1]]`.

    Attributes:
        num_entities: All entity ids are below it.
        keys: [groups] int64, ascending: relation * num_entities + entity.
        row_splits: [groups + 1] int64, ascending, from 0 to the number of known entities.
        list_keys: [known] int64, ascending and distinct: group * num_entities + entity, the sorted
            lists of `quatre_tf.ranking.entity_lists`.
    """

    num_entities: int
    keys: np.ndarray
    row_splits: np.ndarray
    list_keys: np.ndarray

    @property
    def entities(self) -> np.ndarray:
        """The known entities, ascending inside each group: [known] int32, a new array."""
        return (self.list_keys % self.num_entities).astype(np.int32)

    @property
    def group_sizes(self) -> np.ndarray:
        """Number of known entities of each group: [groups] int64, never 0."""
        return np.diff(self.row_splits)

    def groups_per_relation(self, num_relations: int) -> np.ndarray:
        """Returns how many groups each relation has, one for each entity: [num_relations] int64."""
        return np.bincount(self.keys // self.num_entities, minlength=num_relations)

    def groups(self, relations: np.ndarray, entities: np.ndarray) -> np.ndarray:
        """Returns the groups of (relation, entity) pairs: [n] int64, -1 if nothing is known."""
        return _places(self.keys, group_keys(relations, entities, self.num_entities))

    def of_group(self, group: int) -> np.ndarray:
        """Returns the known entities of a group, ascending: int64; none for -1."""
        start, limit = self.row_splits[[group, group + 1]] if group >= 0 else (0, 0)
        return self.list_keys[start:limit] % self.num_entities

    def contains(
        self, relations: np.ndarray, entities: np.ndarray, wanted: np.ndarray
    ) -> np.ndarray:
        """Returns whether `wanted` entities are known of (relation, entity) pairs: [n] bool."""
        # The list keys of group -1 are negative, so none is found.
        groups = self.groups(relations, entities)
        return _places(self.list_keys, groups * self.num_entities + wanted) >= 0

    def of_relation(self, relation: int) -> "KnownTriples":
        """Returns the groups of one relation; their keys are entities."""
        first = relation * self.num_entities
        start, limit = np.searchsorted(self.keys, [first, first + self.num_entities])
        splits = self.row_splits[start : limit + 1]
        return KnownTriples(
            self.num_entities,
            self.keys[start:limit] - first,
            splits - splits[0],
            self.list_keys[splits[0] : splits[-1]] - start * self.num_entities,
        )

    def pack(self, source: str) -> np.ndarray:
        """Returns the index as one array for a file: [n] int64, with a digest.

        Args:
            source: Identifies what is indexed; `unpack` expects the same.
        """
        body = [[len(self.keys)], self.keys, self.row_splits, self.list_keys]
        packed = np.concatenate([np.zeros(_DIGEST, np.int64), *body])
        packed[:_DIGEST] = _digest(packed, source)
        return packed

    @classmethod
    def unpack(cls, packed: np.ndarray, source: str, num_entities: int) -> "KnownTriples | None":
        """Returns the index that `pack` returned, as views; None for an array of anything else."""
        if packed.dtype != np.int64 or packed.ndim != 1:
            return None
        if not np.array_equal(packed[:_DIGEST], _digest(packed, source)):
            return None
        number, body = packed[_DIGEST], np.asarray(packed[_DIGEST + 1 :])
        return cls(num_entities, *np.split(body, [number, 2 * number + 1]))


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
        pairs *= num_entities
        pairs += triples[:, wanted]
        known = distinct(pairs)
        pairs = known // num_entities
        starts = run_starts(pairs)
        keys = pairs[starts]
        # In place, from keys of pairs to their ranks.
        sizes = np.diff(starts, append=len(known))
        known -= np.repeat((keys - np.arange(len(keys))) * num_entities, sizes)
    else:
        keys, groups = np.unique(pairs, return_inverse=True)
        _check_range(len(keys), num_entities)
        # The rank of a group stands in for its key.
        known = distinct(groups.reshape(-1) * np.int64(num_entities) + triples[:, wanted])
        starts = run_starts(known // num_entities)
    row_splits = np.append(starts, len(known)).astype(np.int64)
    return KnownTriples(num_entities, keys, row_splits, known)


def _places(ascending: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Returns where distinct ascending values hold what is wanted, -1 where they do not."""
    # In ascending order, each search reads what the one before it did: a tenth of the time.
    order = np.argsort(wanted, kind="stable")
    places = np.empty(len(wanted), np.int64)
    places[order] = np.searchsorted(ascending, wanted[order])
    places[places == len(ascending)] = -1
    return np.where(ascending[places] == wanted, places, -1) if len(ascending) else places


def _digest(packed: np.ndarray, source: str) -> np.ndarray:
    """Returns the SHA-256 of what is indexed and of all but the digest: [_DIGEST] int64."""
    digest = hashlib.sha256(f"{source}\n".encode())
    digest.update(np.ascontiguousarray(packed[_DIGEST:]).data)
    return np.frombuffer(digest.digest(), np.int64)


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
