"""The reference implementation's own ranking metrics, from its tables through our ranking."""

import tarfile

import numpy as np
import pytest
import tensorflow as tf

from quatre_tf.data.known_triples import index_heads, index_tails
from quatre_tf.metrics import rank_metrics
from quatre_tf.ranking.counting import ranks_from_counts
from quatre_tf.ranking.sides import RankingSide
from quatre_tf.ranking.tile_runner import TileRunner
from tests.golden import NAMES, folder_from, load_golden, model_with


def read_split(archive, split, golden):
    """Ids [num_triples, 3] of one split, numbered as the golden tables are."""
    entities = {name: i for i, name in enumerate(golden.entity_names)}
    relations = {name: i for i, name in enumerate(golden.relation_names)}
    (member,) = [m for m in archive.getmembers() if m.name.endswith(f"{split}.txt")]
    lines = archive.extractfile(member).read().decode().splitlines()
    names = [line.split("\t") for line in lines]
    return np.array([(entities[h], relations[r], entities[t]) for h, r, t in names], np.int32)


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
    entities, relations = len(golden.entity_names), len(golden.relation_names)
    runner = TileRunner(model_with(golden, "final"), tf.distribute.get_strategy())
    known = triples if filtered else triples[:0]
    sides = {}
    for side, index, other in (
        ("head", index_heads, index_tails),
        ("tail", index_tails, index_heads),
    ):
        slots = other(triples, entities)
        constraint = {"type_constrained": slots}, slots.keys
        ranking = RankingSide(side, entities, relations, index(known, entities), *constraint)
        counts = runner.run(runner.read_table(), ranking, test)
        sides[side] = ranks_from_counts(*counts, "optimistic").numpy()
    sides["averaged"] = np.concatenate([sides["head"], sides["tail"]], axis=1)
    for side, ranks in sides.items():
        for prefix, of_set in zip(("", "type_constrained/"), ranks, strict=True):
            name = f"{prefix}{side}({'filter' if filtered else 'raw'})"
            expected = golden.meta["metrics"][name]
            assert rank_metrics(of_set) == pytest.approx(expected, abs=1e-4), name
