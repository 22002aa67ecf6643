"""Constrained candidate sets: the entities seen in the head or tail slot of a relation."""

import numpy as np

from quatre_tf.data.encoding import SPLITS
from quatre_tf.data.graph import Graph
from quatre_tf.data.known_triples import KnownTriples

# All entities (the paper's rows "_1"); those seen in the slot in any split (its rows "_2"); those
# seen in the slot in train. The first is the only one that says nothing about the answer.
CANDIDATE_SETS = ("all", "type_constrained", "train_type_constrained")
# By the entities in a slot, this index has what completes them on the other side.
_OTHER = {"head": "tail", "tail": "head"}


def constraint(graph: Graph, candidates: str, side: str) -> KnownTriples:
    """Returns the members of a constrained candidate set: its groups are (relation, member).

    Args:
        graph: The graph.
        candidates: `"type_constrained"`: from train, valid and test, as in the paper: the set
            includes the answers. `"train_type_constrained"`: from train alone.
        side: `"head"` or `"tail"`: the predicted slot.
    """
    split = {"type_constrained": "known", "train_type_constrained": "train"}[candidates]
    return graph.index(_OTHER[side], split)


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
    others = [name for name in SPLITS if name != split]
    if candidates == "train_type_constrained":
        others = ["train"]
    relations, entities = graph.split(split)[:, [1, 0 if side == "head" else 2]].T
    groups = [graph.index(_OTHER[side], name).groups(relations, entities) for name in others]
    return int((np.max(groups, axis=0) < 0).sum())
