import contextlib
import dataclasses
import os
import pathlib

import filelock
import numpy as np
import pytest

from tests.trainers.training import misfortunes
from tests.trainers.training.processes import Processes, wait
from trainers.training.config import TrainConfig
from trainers.training.fitting import fit


@pytest.fixture(scope="session")
def family(tmp_path_factory) -> pathlib.Path:
    """A folder with a graph of 24 people: `parent_of` and its inverse `child_of`, `sibling_of`."""
    folder = tmp_path_factory.mktemp("data") / "family"
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


@pytest.fixture(scope="session")
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


# Of the softmax recipes, with every part of their objective; tests of strategies have it, too.
SOFTMAX = {
    "reciprocal": True,
    "normalize_relations": False,
    "init_scale": 0.1,
    "n3": 0.01,
    "relation_prediction": 0.5,
    "lr_decay": "linear",
    "clip_norm": 0.0,
}


@pytest.fixture(scope="session")
def strong_config(config) -> TrainConfig:
    """As `config`, by the strong recipe."""
    defaults = {"num_negatives": 5, "l2": 0.5, "steps_per_epoch": 0, "best_by": "mrr"}
    return dataclasses.replace(config, recipe="strong", **SOFTMAX, **defaults)


@pytest.fixture(scope="session")
def sampled_config(strong_config) -> TrainConfig:
    """As `strong_config`, over seven of the 24 entities at a time, and with rounded products."""
    sizes = {"num_candidates": 7, "compute_dtype": "bfloat16"}
    return dataclasses.replace(strong_config, recipe="sampled", **sizes)


@pytest.fixture(params=["config", "strong_config", "sampled_config"])
def any_config(request) -> TrainConfig:
    """Settings of each recipe."""
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="session")
def finished(config, tmp_path_factory) -> pathlib.Path:
    """A whole run of `config`, not to be changed; one of the test processes makes it for all.

    What it prints is in printed.txt.
    """
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    run_dir, printed = shared / "finished", shared / "finished" / "printed.txt"
    with filelock.FileLock(shared / "finished.lock"):
        if not printed.exists():
            text = shared / "printed.txt"
            with text.open("w") as file, contextlib.redirect_stdout(file):
                fit(config, run_dir)
            text.rename(printed)
    return run_dir


@pytest.fixture
def processes(tmp_path):
    with contextlib.closing(Processes(tmp_path)) as found:
        yield found


@pytest.fixture
def start(processes):
    """`start(flags, misfortune, details)` -> the process of `trainers.fit`."""
    return lambda *arguments: processes.start(misfortunes.fit, *arguments, environment={})


@pytest.fixture
def run(start):
    """As `start` -> (exit code, output) at its end."""
    return lambda *arguments: wait(start(*arguments))
