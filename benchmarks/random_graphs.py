"""Random graphs of the sizes of the paper's benchmarks; they contain nothing to learn."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from quatre_tf.data.graph import Graph
from quatre_tf.data.vocabulary import Vocabulary

# Entities, relations, distinct train triples, and the mean number of answers of a distinct query.
SIZES = {
    "wn18rr": (40_943, 11, 86_835, 1.678),
    "fb15k237": (14_541, 237, 272_115, 3.636),
    "wn18": (40_943, 18, 141_442, 1.652),
    "fb15k": (14_951, 1_345, 483_142, 3.530),
}


def random_graph(benchmark: str) -> Graph:
    """Returns a graph with a training split of the size of a benchmark's; the others are empty.

    Each relation has equally many triples. Its heads and its tails are random entities, as few as
    give each query the mean number of answers.
    """
    num_entities, num_relations, num_triples, num_answers = SIZES[benchmark]
    rng = np.random.default_rng(0)
    count = max(1, round(num_triples / num_relations / num_answers))
    heads, tails = (
        np.stack([rng.permutation(num_entities)[:count] for _ in range(num_relations)])
        for _ in range(2)
    )
    places, relations = np.divmod(np.arange(num_triples), num_relations)
    train = np.empty([num_triples, 3], np.int32)
    train[:, 0] = heads[relations, places % count]
    train[:, 1] = relations
    # Each round through the heads meets the tails one place further, so no triple occurs twice.
    train[:, 2] = tails[relations, (places + places // count) % count]
    nothing = np.empty([0, 3], np.int32)
    names = (_names("e", num_entities), _names("r", num_relations))
    entities, relation_names = map(Vocabulary, names)
    return Graph("random", entities, relation_names, train, nothing, nothing)


def _names(prefix: str, count: int) -> pa.Array:
    """Returns names whose order is that of their numbers."""
    numbers = pc.utf8_lpad(pa.array(np.arange(count)).cast(pa.string()), len(str(count)), "0")
    return pc.binary_join_element_wise(prefix, numbers, "")
