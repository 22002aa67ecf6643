"""The reference implementation's own ranking metrics, from its tables through our ranking."""

import tarfile

import numpy as np
import pytest
import tensorflow as tf

from datasets.known_triples import index_heads, index_tails
from quatre_tf import ranking
from quatre_tf.metrics import rank_metrics
from tests.golden import NAMES, folder_from, load_golden, model_with


def read_split(archive, split, golden):
    """Ids [num_triples, 3] of one split, numbered as the golden tables are."""
    entities = {name: i for i, name in enumerate(golden.entity_names)}
    relations = {name: i for i, name in enumerate(golden.relation_names)}
    (member,) = [m for m in archive.getmembers() if m.name.endswith(f"{split}.txt")]
    lines = archive.extractfile(member).read().decode().splitlines()
    names = [line.split("\t") for line in lines]
    return np.array([(entities[h], relations[r], entities[t]) for h, r, t in names])


def ranks_of(queries, model, targets, known, keys):
    if known is not None:
        index = (known.keys, known.row_splits, known.entities, keys)
        known = ranking.lookup_known(*map(tf.constant, index))
    counts = ranking.rank_queries(queries, model.entities.embeddings, targets, known)
    return ranking.ranks_from_counts(*counts, "optimistic").numpy()


@pytest.fixture(params=NAMES)
def case(request):
    golden = load_golden(request.param)
    path = folder_from("QUATRE_MANUAL_DIR") / f"{request.param}.tar.gz"
    with tarfile.open(path) as archive:
        splits = [read_split(archive, split, golden) for split in ("train", "valid", "test")]
    return golden, splits[-1], np.concatenate(splits)


@pytest.mark.parametrize("filtered", [False, True], ids=["raw", "filter"])
def test_metrics_of_the_final_tables(case, filtered):
    golden, test, triples = case
    model, size = model_with(golden, "final"), len(golden.entity_names)
    heads, relations, tails = test.T
    known_tails, known_heads = (
        (index_tails(triples, size), index_heads(triples, size)) if filtered else (None, None)
    )
    tail_ranks = ranks_of(
        model.tail_queries(heads, relations), model, tails, known_tails, relations * size + heads
    )
    head_ranks = ranks_of(
        model.head_queries(relations, tails), model, heads, known_heads, relations * size + tails
    )
    sides = {
        "head": head_ranks,
        "tail": tail_ranks,
        "averaged": np.concatenate([head_ranks, tail_ranks]),
    }
    for side, ranks in sides.items():
        expected = golden.meta["metrics"][f"{side}({'filter' if filtered else 'raw'})"]
        assert rank_metrics(ranks) == pytest.approx(expected, abs=1e-4), side
