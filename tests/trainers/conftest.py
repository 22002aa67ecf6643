import contextlib
import dataclasses
import json
import pathlib

import numpy as np
import pytest

from tests.trainers.training import misfortunes
from tests.trainers.training.processes import Processes, wait
from trainers.training.config import TrainConfig


@pytest.fixture
def family(tmp_path) -> pathlib.Path:
    """A folder with a graph of 24 people: `parent_of` and its inverse `child_of`, `sibling_of`."""
    folder = tmp_path / "family"
    folder.mkdir()
    triples = []
    for parent in range(8):
        children = [8 + 2 * parent, 9 + 2 * parent]
        for child in children:
            triples += [(parent, "parent_of", child), (child, "child_of", parent)]
        for one, other in (children, children[::-1]):
            triples.append((one, "sibling_of", other))
    lines = np.array([f"p{h}\t{r}\tp{t}" for h, r, t in triples])
    order = np.random.default_rng(0).permutation(len(lines))
    for name, part in zip(("train", "valid", "test"), np.split(order, [32, 40]), strict=True):
        (folder / f"{name}.txt").write_text("\n".join(lines[part]) + "\n")
    return folder


@pytest.fixture
def config(family) -> TrainConfig:
    return TrainConfig(
        dataset=str(family),
        embedding_dim=4,
        num_negatives=2,
        batch_size=8,
        steps_per_epoch=5,
        epochs=6,
        validate_every=2,
        l2=0.01,
        seed=3,
    )


@pytest.fixture
def strong_config(family) -> TrainConfig:
    """As `config`, by the strong recipe, with every part of its objective."""
    return TrainConfig(
        dataset=str(family),
        recipe="strong",
        reciprocal=True,
        normalize_relations=False,
        embedding_dim=4,
        init_scale=0.1,
        batch_size=8,
        steps_per_epoch=0,
        n3=0.01,
        relation_prediction=0.5,
        lr_decay="linear",
        clip_norm=0.0,
        epochs=6,
        validate_every=2,
        best_by="mrr",
        seed=3,
    )


@pytest.fixture
def sampled_config(strong_config) -> TrainConfig:
    """As `strong_config`, over seven of the 24 entities at a time."""
    changes = {"recipe": "sampled", "num_candidates": 7}
    return dataclasses.replace(strong_config, **changes)


@pytest.fixture(params=["config", "strong_config", "sampled_config"])
def any_config(request) -> TrainConfig:
    """Settings of each recipe."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def start(tmp_path):
    """`start(flags, misfortune, details)` -> the process of `trainers.fit`."""
    with contextlib.closing(Processes(tmp_path)) as processes:
        yield lambda *arguments: processes.start(misfortunes.fit, *arguments, environment={})


@pytest.fixture
def run(start):
    """As `start` -> (exit code, output) at its end."""
    return lambda *arguments: wait(start(*arguments))


def read_records(run_dir, group):
    lines = (run_dir / "metrics.jsonl").read_text().splitlines()
    return [record for record in map(json.loads, lines) if record["group"] == group]
