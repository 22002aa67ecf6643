"""Constrained candidate sets: the entities seen in the head or tail slot of a relation."""

import dataclasses

import numpy as np

from quatre_tf.data.encoding import SPLITS
from quatre_tf.data.graph import Graph

# All entities (the paper's rows "_1"); those seen in the slot in any split (its rows "_2"); those
# seen in the slot in train. The first is the only one that says nothing about the answer.
CANDIDATE_SETS = ("all", "type_constrained", "train_type_constrained")
_COLUMNS = {"head": 0, "tail": 2}


@dataclasses.dataclass(frozen=True, eq=False)
class SlotEntities:
    """The entities seen in one slot, by relation.

    Attributes:
        keys: [pairs] int64, ascending and distinct: relation * num_entities + entity.
        num_entities: All entity ids are below it.
    """

    keys: np.ndarray
    num_entities: int

    def contains(self, relations: np.ndarray, entities: np.ndarray) -> np.ndarray:
        """Returns [n] bool: whether each entity was seen in the slot of its relation."""
        wanted = relations.astype(np.int64) * self.num_entities + entities
        places = np.searchsorted(self.keys, wanted)
        found = places < len(self.keys)
        found[found] = self.keys[places[found]] == wanted[found]
        return found

    def counts(self, relations: np.ndarray) -> np.ndarray:
        """Returns [n] int64: how many entities were seen in the slot of each relation."""
        first = relations.astype(np.int64) * self.num_entities
        return np.searchsorted(self.keys, first + self.num_entities) - np.searchsorted(
            self.keys, first
        )


def slot_entities(triples: np.ndarray, side: str, num_entities: int) -> SlotEntities:
    """Returns the entities that triples [num_triples, 3] have in the slot "head" or "tail"."""
    pairs = triples[:, 1].astype(np.int64) * num_entities + triples[:, _COLUMNS[side]]
    return SlotEntities(np.unique(pairs), num_entities)


def constraint(graph: Graph, candidates: str, side: str) -> SlotEntities:
    """Returns the members of a constrained candidate set.

    Args:
        graph: The graph.
        candidates: `"type_constrained"`: from train, valid and test, as in the paper: the set
            includes the answers. `"train_type_constrained"`: from train alone.
        side: `"head"` or `"tail"`: the predicted slot.
    """
    split = {"type_constrained": "known", "train_type_constrained": "train"}[candidates]
    # By the entities in the slot, the index has what completes them on the other side.
    other = {"head": "tail", "tail": "head"}[side]
    return SlotEntities(graph.index(other, split).keys, graph.num_entities)


def unseen_answers(graph: Graph, split: str, candidates: str, side: str) -> int:
    """Counts the answers of a split that are candidates only through the split itself.

    Args:
        graph: The graph.
        split: The split that is ranked.
        candidates: `"type_constrained"`: answers that no other split has in the slot of their
            relation. `"train_type_constrained"`: those that train does not have there. `"all"`: 0.
        side: `"head"` or `"tail"`.
    """
    if candidates == "all":
        return 0
    if candidates == "train_type_constrained":
        others = [graph.train]
    else:
        others = [graph.split(name) for name in SPLITS if name != split]
    seen = slot_entities(np.concatenate(others), side, graph.num_entities)
    triples = graph.split(split)
    return int((~seen.contains(triples[:, 1], triples[:, _COLUMNS[side]])).sum())
