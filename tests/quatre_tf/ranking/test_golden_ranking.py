"""The reference implementation's own ranking metrics, from its tables through our ranking."""

import tarfile

import numpy as np
import pytest
import tensorflow as tf

from quatre_tf.data.candidate_sets import slot_entities
from quatre_tf.data.known_triples import index_heads, index_tails
from quatre_tf.metrics import rank_metrics
from quatre_tf.ranking import counting as ranking
from quatre_tf.ranking.counting import count_better
from quatre_tf.ranking.entity_lists import RankTargets
from quatre_tf.ranking.tiles import candidate_table
from tests.golden import NAMES, folder_from, load_golden, model_with


def read_split(archive, split, golden):
    """Ids [num_triples, 3] of one split, numbered as the golden tables are."""
    entities = {name: i for i, name in enumerate(golden.entity_names)}
    relations = {name: i for i, name in enumerate(golden.relation_names)}
    (member,) = [m for m in archive.getmembers() if m.name.endswith(f"{split}.txt")]
    lines = archive.extractfile(member).read().decode().splitlines()
    names = [line.split("\t") for line in lines]
    return np.array([(entities[h], relations[r], entities[t]) for h, r, t in names])


def ranks_of(queries, model, targets, known, pairs, slots, relations):
    """Optimistic ranks [2, n]: among all entities, and under the type constraint."""
    table = candidate_table(tf.convert_to_tensor(model.entities.embeddings))
    keys, lists = np.zeros(0, np.int64), np.full(len(targets), -1)
    if known is not None:
        keys, lists = known.list_keys, np.searchsorted(known.keys, pairs)
    ranks = []
    for start in range(0, len(targets), 512):
        rows = slice(start, start + 512)
        asked = (
            targets[np.newaxis, rows],
            keys,
            lists[rows],
            slots.keys,
            relations[np.newaxis, rows],
        )
        counts = count_better(queries[rows], table, RankTargets(*map(tf.constant, asked)))
        ranks.append(ranking.ranks_from_counts(*counts, "optimistic").numpy()[:, 0])
    return np.concatenate(ranks, axis=1)


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
        model.tail_queries(heads, relations),
        model,
        tails,
        known_tails,
        relations * size + heads,
        slot_entities(triples, "tail", size),
        relations,
    )
    head_ranks = ranks_of(
        model.head_queries(relations, tails),
        model,
        heads,
        known_heads,
        relations * size + tails,
        slot_entities(triples, "head", size),
        relations,
    )
    sides = {
        "head": head_ranks,
        "tail": tail_ranks,
        "averaged": np.concatenate([head_ranks, tail_ranks], axis=1),
    }
    for side, ranks in sides.items():
        for prefix, of_set in zip(("", "type_constrained/"), ranks, strict=True):
            name = f"{prefix}{side}({'filter' if filtered else 'raw'})"
            expected = golden.meta["metrics"][name]
            assert rank_metrics(of_set) == pytest.approx(expected, abs=1e-4), name
