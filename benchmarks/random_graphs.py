"""Random graphs for measuring time and memory; they contain nothing to learn.

`random_graph` has the size of one of the paper's benchmarks. `write_zipf_graph` has any size and
the degrees of real graphs: few hubs and many entities with few triples.
"""

import pathlib
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from datasets.triples import COLUMNS
from quatre_tf.data.graph import Graph
from quatre_tf.data.vocabulary import Vocabulary

NUM_RELATIONS = 237
TRIPLES_PER_ENTITY = 5
# Triples of the validation split, and of the test split.
HELD_OUT = 1_000


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


def zipf_ranks(uniforms: np.ndarray, bound: int) -> np.ndarray:
    """Returns ranks in [0, bound) as int64: rank k with probability log_(bound+1)((k+2) / (k+1)).

    Except for the first ranks this is Zipf's law with exponent 1. The distribution function is
    inverted, so no table of `bound` probabilities is needed.

    Args:
        uniforms: Any shape, in [0, 1).
        bound: Number of ranks.
    """
    ranks = np.floor((bound + 1.0) ** uniforms).astype(np.int64) - 1
    # The power may be rounded up to its limit.
    return np.minimum(ranks, bound - 1)


def zipf_triples(num_entities: int, seed: int = 0) -> np.ndarray:
    """Returns `[TRIPLES_PER_ENTITY * num_entities, 3]` int32: head, relation, tail.

    Every entity is the head of equally many triples; tails and relations follow Zipf's law. All
    entities occur in any `num_entities` consecutive triples. A triple may occur twice.
    """
    rng = np.random.default_rng(seed)
    num_triples = TRIPLES_PER_ENTITY * num_entities
    # So that hubs lie anywhere in the table.
    entity_of_rank = rng.permutation(num_entities).astype(np.int32)
    triples = np.empty([num_triples, 3], np.int32)
    triples[:, 0] = np.arange(num_triples) % num_entities
    triples[:, 1] = zipf_ranks(rng.random(num_triples), NUM_RELATIONS)
    triples[:, 2] = entity_of_rank[zipf_ranks(rng.random(num_triples), num_entities)]
    return triples


def write_zipf_graph(folder: pathlib.Path, num_entities: int, seed: int = 0) -> None:
    """Writes a folder as `datasets.catalog` reads it: train.tsv, valid.tsv, test.tsv."""
    triples = zipf_triples(num_entities, seed)
    splits = np.split(triples, [-2 * HELD_OUT, -HELD_OUT])
    entities, relations = _names("e", num_entities), _names("r", NUM_RELATIONS)
    options = pa.csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")
    folder.mkdir(parents=True, exist_ok=True)
    for split, rows in zip(("train", "valid", "test"), splits, strict=True):
        vocabularies = (entities, relations, entities)
        columns = [names.take(ids) for names, ids in zip(vocabularies, rows.T, strict=True)]
        table = pa.table(columns, names=list(COLUMNS))
        pa.csv.write_csv(table, folder / f"{split}.tsv", options)


def _names(prefix: str, count: int) -> pa.Array:
    """Returns names whose order is that of their numbers."""
    numbers = pc.utf8_lpad(pa.array(np.arange(count)).cast(pa.string()), len(str(count)), "0")
    return pc.binary_join_element_wise(prefix, numbers, "")
