"""One side of a ranking as arrays: the answers, the known triples, the candidates."""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from quatre_tf.data.candidate_sets import constraint
from quatre_tf.data.graph import Graph
from quatre_tf.data.known_triples import KnownTriples, group_keys

_COLUMNS = {"head": 0, "tail": 2}


@dataclasses.dataclass(frozen=True, eq=False)
class RankingSide:
    """What `quatre_tf.ranking.counting.count_better` needs from a graph.

    Attributes:
        name: `"head"` or `"tail"`: the side that is predicted.
        num_entities: Number of entities.
        num_relations: Number of relations.
        known: Known answers by (relation, entity given); its groups are lists.
        constraints: Members of the constrained candidate sets, by name.
        set_keys: [members] int64: the same as keys; list s * num_relations + r holds the members
            of set s for relation r.
    """

    name: str
    num_entities: int
    num_relations: int
    known: KnownTriples
    constraints: Mapping[str, KnownTriples] = dataclasses.field(default_factory=dict)
    set_keys: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(0, np.int64))

    @classmethod
    def build(cls, graph: Graph, name: str, candidates: Sequence[str]) -> "RankingSide":
        """Takes the known triples of a graph, and the members of its constrained sets."""
        constraints = {s: constraint(graph, s, name) for s in candidates if s != "all"}
        stride = graph.num_relations * graph.num_entities
        set_keys = [s * stride + slots.keys for s, slots in enumerate(constraints.values())]
        return cls(
            name,
            graph.num_entities,
            graph.num_relations,
            graph.index(name, "known"),
            constraints,
            np.concatenate([np.zeros(0, np.int64), *set_keys]),
        )

    @property
    def sets(self) -> tuple[str, ...]:
        """The candidate sets in the order of the counts; all entities always come first."""
        return ("all", *self.constraints)

    def targets(self, triples: np.ndarray) -> np.ndarray:
        """Returns the answers [n] int64 of triples [n, 3]."""
        return triples[:, _COLUMNS[self.name]].astype(np.int64)

    def query_keys(self, triples: np.ndarray) -> np.ndarray:
        """Returns [n] int64: equal for triples that ask the same, neighbours share a relation."""
        given = triples[:, 2 - _COLUMNS[self.name]]
        return group_keys(triples[:, 1], given, self.num_entities)

    def known_lists(self, triples: np.ndarray) -> np.ndarray:
        """Returns the lists of known answers [n] int64; -1 where nothing is known."""
        return self.known.groups(triples[:, 1], triples[:, 2 - _COLUMNS[self.name]])

    def set_lists(self, triples: np.ndarray) -> np.ndarray:
        """Returns the lists of candidates [constrained sets, n] int64."""
        offsets = np.arange(len(self.constraints), dtype=np.int64) * self.num_relations
        return offsets[:, np.newaxis] + triples[:, 1]

    def competitors(self, triples: np.ndarray) -> list[np.ndarray]:
        """Returns for each of `sets` how many competitors the answers of triples have: [n] int64.

        All triples are taken to be known, so that the known answers hold the answer itself.
        """
        lists, relations = self.known_lists(triples), triples[:, 1]
        constrained = [
            slots.groups_per_relation(self.num_relations)[relations]
            - self._known_inside(slots)[lists]
            for slots in self.constraints.values()
        ]
        return [self.num_entities - self.known.group_sizes[lists], *constrained]

    def _known_inside(self, slots: KnownTriples) -> np.ndarray:
        """Returns [groups] int64: how many known answers of each group a constraint admits."""
        relations = np.repeat(self.known.keys // self.num_entities, self.known.group_sizes)
        inside = np.cumsum(slots.groups(relations, self.known.entities) >= 0)
        return np.diff(np.concatenate([[0], inside])[self.known.row_splits])
