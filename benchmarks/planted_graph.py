"""A random graph of any size whose triples follow a planted rule, so the best MRR is known.

Entities have a type, a cluster within the type and a popularity within the cluster. A relation
moves type and cluster of the head by a fixed step, which leads to the cluster of the tail; a *hub
relation* leads to the same cluster from everywhere. Which member of its cluster the head or tail
is follows Zipf's law, and so does which relation of its type the head has. So the rule says which
entities can answer a query and in which order, but not which of them does: nothing can rank them
better.
"""

import pathlib

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from datasets.triples import write_triples
from quatre_tf.data.encoding import SPLITS
from quatre_tf.data.known_triples import index_heads, index_tails

# Members of a cluster, clusters of a type, and relations whose heads have a type.
MEMBERS = 115_000
CLUSTERS = 4
RELATIONS_OF_TYPE = 83
# Every so many relations, one is a hub relation.
_HUB_PERIOD = 16
# Triples drawn for each that is wanted; about 7 % are repetitions.
_DRAWN = 1.25
# Triples of the validation split, and of the test split.
VALID = 1_000
TEST = 5_000


class PlantedGraph:
    """The graph.

    Attributes:
        num_entities: Number of entities: whole types, so at most the number asked for.
        train: Distinct triples, `[n, 3]` int32: head, relation, tail. Every entity occurs.
        valid: `VALID` triples.
        test: `TEST` triples.

    Args:
        num_entities: Number of entities, at least one type (460,000).
        num_relations: Number of relations.
        num_triples: Number of triples of all splits; fewer if too many of those drawn repeat.
        seed: Seed of everything.
    """

    def __init__(self, num_entities: int, num_relations: int, num_triples: int, seed: int = 0):
        self._rng = np.random.default_rng(seed)
        self._num_types = num_entities // (MEMBERS * CLUSTERS)
        self.num_entities = self._num_types * MEMBERS * CLUSTERS
        self._num_relations = num_relations
        self._relations_of_type = self._draw_relations()
        self._type_steps = self._rng.integers(self._num_types, size=num_relations)
        self._cluster_steps = self._rng.integers(CLUSTERS, size=num_relations)
        triples = self._draw(num_triples)
        # Each entity is the head of one of the first triples, which therefore stay in training.
        self._rng.shuffle(triples[self.num_entities :])
        # The names must not give away the types.
        self._number = self._rng.permutation(self.num_entities)
        self.train, self.valid, self.test = np.split(triples, [-VALID - TEST, -TEST])

    def write(self, folder: pathlib.Path) -> None:
        """Writes train.tsv, valid.tsv and test.tsv, names with as many characters as Wikidata's."""
        folder.mkdir(parents=True, exist_ok=True)
        numbers = pa.array(self._number).cast(pa.string())
        entities = pc.binary_join_element_wise("Q", numbers, "").cast(pa.large_string())
        relations = pa.array([f"P{n}" for n in range(self._num_relations)], pa.large_string())
        for split in SPLITS:
            columns = zip((entities, relations, entities), getattr(self, split).T, strict=True)
            write_triples([names.take(ids) for names, ids in columns], folder / f"{split}.tsv")

    def best_mrr(self) -> float:
        """Returns the filtered MRR of the rule on the test split, both sides, realistic ties."""
        known = np.concatenate([self.train, self.valid, self.test])
        return float(np.mean([self._best_ranks(known, side) ** -1.0 for side in ("head", "tail")]))

    def _best_ranks(self, known: np.ndarray, side: str) -> np.ndarray:
        """Returns the rank of each test triple's head or tail: more popular members come first.

        All entities of a place in the order are equally likely: one per cluster that can answer.
        """
        answer, given = (0, 2) if side == "head" else (2, 0)
        is_hub = self._is_hub(np.arange(self._num_relations))
        types = np.bincount(self._relations_of_type.ravel(), minlength=self._num_relations)
        clusters = np.where(is_hub & (side == "head"), types * CLUSTERS, 1)
        index = {"head": index_heads, "tail": index_tails}[side](known, self.num_entities)
        groups = index.groups(self.test[:, 1], self.test[:, given])
        ranks = np.empty(len(self.test))
        for row, (triple, group) in enumerate(zip(self.test, groups, strict=True)):
            place = triple[answer] % MEMBERS
            others = index.of_group(group) % MEMBERS
            width = clusters[triple[1]]
            before = place * width - np.count_nonzero(others < place)
            # The triple itself is among the known ones.
            equal = width - np.count_nonzero(others == place)
            ranks[row] = 1 + before + equal / 2
        return ranks

    def _draw_relations(self) -> np.ndarray:
        """Returns the relations of each type, `[types, RELATIONS_OF_TYPE]`, by Zipf's law."""
        zipf = _zipf(self._num_relations)
        relations = np.stack(
            [
                self._rng.choice(self._num_relations, RELATIONS_OF_TYPE, replace=False, p=zipf)
                for _ in range(self._num_types)
            ]
        )
        # So that each relation has a type, if there are as many places.
        places = relations.T.reshape(-1)
        count = min(self._num_relations, len(places))
        places[:count] = np.arange(count)
        return places.reshape(RELATIONS_OF_TYPE, self._num_types).T

    def _draw(self, num_triples: int) -> np.ndarray:
        """Returns distinct triples; the first have each entity as head once."""
        more = int(_DRAWN * (num_triples - self.num_entities))
        types, clusters = self._rng.integers([[self._num_types], [CLUSTERS]], size=(2, more))
        popular = (types * CLUSTERS + clusters) * MEMBERS + self._members(more)
        heads = np.concatenate([np.arange(self.num_entities), popular])
        cluster, types = heads // MEMBERS % CLUSTERS, heads // (MEMBERS * CLUSTERS)
        slots = self._rng.choice(RELATIONS_OF_TYPE, len(heads), p=_zipf(RELATIONS_OF_TYPE))
        relations = self._relations_of_type[types, slots]
        is_hub = self._is_hub(relations)
        types = np.where(is_hub, 0, types) + self._type_steps[relations]
        cluster = np.where(is_hub, 0, cluster) + self._cluster_steps[relations]
        tails = types % self._num_types * CLUSTERS + cluster % CLUSTERS
        tails = tails * MEMBERS + self._members(len(heads))
        triples = np.stack([heads, relations, tails], axis=1).astype(np.int32)
        keys = (heads * self._num_relations + relations) * self.num_entities + tails
        first = np.sort(np.unique(keys, return_index=True)[1])
        return triples[first[:num_triples]]

    def _members(self, count: int) -> np.ndarray:
        return self._rng.choice(MEMBERS, count, p=_zipf(MEMBERS))

    def _is_hub(self, relations: np.ndarray) -> np.ndarray:
        return relations % _HUB_PERIOD == 1


def _zipf(bound: int) -> np.ndarray:
    weights = 1 / np.arange(1, bound + 1)
    return weights / weights.sum()
