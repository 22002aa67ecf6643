"""Random graphs of the sizes of the paper's benchmarks; they contain nothing to learn."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from quatre_tf.data.graph import Graph
from quatre_tf.data.vocabulary import Vocabulary


class GraphSize(NamedTuple):
    """Size of a benchmark.

    Attributes:
        entities: Number of entities.
        relations: Number of relations.
        triples: Number of distinct training triples.
        answers: Mean number of answers of a distinct query.
    """

    entities: int
    relations: int
    triples: int
    answers: float


SIZES = {
    "wn18rr": GraphSize(40_943, 11, 86_835, 1.678),
    "fb15k237": GraphSize(14_541, 237, 272_115, 3.636),
    "wn18": GraphSize(40_943, 18, 141_442, 1.652),
    "fb15k": GraphSize(14_951, 1_345, 483_142, 3.530),
}


def random_graph(size: GraphSize, seed: int = 0) -> Graph:
    """Returns a graph whose training split has a given size; the other splits are empty.

    Each relation has equally many triples. Its heads and its tails are random entities, as few as
    give each query the mean number of answers.
    """
    rng = np.random.default_rng(seed)
    count = max(1, round(size.triples / size.relations / size.answers))
    heads, tails = (
        np.stack([rng.permutation(size.entities)[:count] for _ in range(size.relations)])
        for _ in range(2)
    )
    places, relations = np.divmod(np.arange(size.triples), size.relations)
    train = np.empty([size.triples, 3], np.int32)
    train[:, 0] = heads[relations, places % count]
    train[:, 1] = relations
    # Each round through the heads meets the tails one place further, so no triple occurs twice.
    train[:, 2] = tails[relations, (places + places // count) % count]
    nothing = np.empty([0, 3], np.int32)
    names = (_names("e", size.entities), _names("r", size.relations))
    entities, relation_names = map(Vocabulary, names)
    return Graph("random", entities, relation_names, train, nothing, nothing)


def _names(prefix: str, count: int) -> pa.Array:
    """Returns names whose order is that of their numbers."""
    numbers = pc.utf8_lpad(pa.array(np.arange(count)).cast(pa.string()), len(str(count)), "0")
    return pc.binary_join_element_wise(prefix, numbers, "")
