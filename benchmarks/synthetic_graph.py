"""Random graphs of any size, with the degrees of real ones: few hubs, many entities with little.

Every entity is the head of equally many triples; tails and relations follow Zipf's law with
exponent 1. There is nothing to learn in such a graph: it is for measuring time and memory.
"""

import pathlib

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from datasets.triples import COLUMNS

NUM_RELATIONS = 237
TRIPLES_PER_ENTITY = 5
# Triples of the validation split, and of the test split.
HELD_OUT = 1_000


def zipf_ranks(uniforms: np.ndarray, bound: int) -> np.ndarray:
    """Returns ranks in [0, bound) as int64: rank k with probability log_(bound+1)((k+2) / (k+1)).

    That is Zipf's law with exponent 1, up to its first ranks. The distribution function is
    inverted, so that no table of `bound` probabilities is needed.

    Args:
        uniforms: Any shape, in [0, 1).
        bound: Number of ranks.
    """
    ranks = np.floor((bound + 1.0) ** uniforms).astype(np.int64) - 1
    # The power may be rounded up to its limit.
    return np.minimum(ranks, bound - 1)


def synthetic_triples(num_entities: int, seed: int = 0) -> np.ndarray:
    """Returns `[TRIPLES_PER_ENTITY * num_entities, 3]` int32: head, relation, tail.

    All entities occur in any `num_entities` consecutive triples. A triple may be there twice.
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


def write_graph(folder: pathlib.Path, num_entities: int, seed: int = 0) -> None:
    """Writes a folder as `datasets.folders` reads it: train.tsv, valid.tsv, test.tsv."""
    triples = synthetic_triples(num_entities, seed)
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
