"""What does not fit is refused with the numbers; TensorFlow would end the process."""

import dataclasses
import re
import resource

import numpy as np
import pytest

from datasets import catalog
from quatre_tf.errors import ConfigError
from trainers.training import memory
from trainers.training.config import TrainConfig
from trainers.training.fitting import train

GIGABYTE = 10**9
COUNTRIES = 685


@pytest.fixture
def graph():
    return catalog.load("countries")


@pytest.mark.parametrize(
    "settings",
    [
        {"embedding_dim": 65536},
        {"batch_size": 2**24},
        {"recipe": "strong", "embedding_dim": 65536},
        {"recipe": "strong", "model": "distmult", "embedding_dim": 65536, "reciprocal": True},
        {"recipe": "sampled", "embedding_dim": 65536, "num_candidates": 600},
    ],
    ids=str,
)
def test_the_largest_size_that_fits_is_said(graph, monkeypatch, settings):
    monkeypatch.setattr(memory, "available", lambda: 1.0 * GIGABYTE)
    config = TrainConfig("countries", **settings)
    with pytest.raises(
        ConfigError, match=r"may use 1\.0 GB\. Tables: .* a step: .*At most"
    ) as caught:
        memory.check_memory(config, graph)
    offers = re.findall(r"--(\w+)=(\d+)", str(caught.value))
    assert offers
    for name, size in offers:
        memory.check_memory(dataclasses.replace(config, **{name: int(size)}), graph)
        with pytest.raises(ConfigError, match="Training takes"):
            memory.check_memory(dataclasses.replace(config, **{name: int(size) + 1}), graph)


@pytest.mark.parametrize(
    "settings", [{"model": "transe", "norm": "el2"}, {"model": "conve", "embedding_dim": 7}]
)
def test_settings_that_do_not_fit_the_model(settings, tmp_path):
    config = TrainConfig("countries", "sampled", reciprocal=True, **settings)
    with pytest.raises(ConfigError, match=f"^--model={settings['model']}: `"):
        train(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_sizes_that_a_model_does_not_have_are_not_offered(graph, monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 0.5 * GIGABYTE)
    config = TrainConfig(
        "countries", "sampled", model="conve", reciprocal=True, embedding_dim=60000
    )
    with pytest.raises(ConfigError, match="Training takes") as caught:
        memory.check_memory(config, graph)
    offers = dict(re.findall(r"--(\w+)=(\d+)", str(caught.value)))
    assert "embedding_dim" in offers
    for name, size in offers.items():
        memory.check_memory(dataclasses.replace(config, **{name: int(size)}), graph)


def test_tables_and_accumulators(graph):
    """685 entities of 4 floats a component, and 5 relations in three tables."""
    found = memory.estimate(TrainConfig("countries", embedding_dim=100), graph)
    floats = (COUNTRIES + 3 * 5) * 400
    assert (found.tables, found.accumulators) == (2 * 4 * floats, 4 * floats)
    mirrored = TrainConfig("countries", embedding_dim=100, strategy="mirrored", num_replicas=3)
    assert memory.estimate(mirrored, graph).accumulators == 3 * 4 * floats


def test_what_the_process_may_use():
    free = memory.available()
    assert 0 < free < 10**15
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm", encoding="ascii") as file:
        mapped = int(file.read().split()[0]) * resource.getpagesize()
    # A gigabyte is for threads, and the allocator maps twice what it holds.
    resource.setrlimit(resource.RLIMIT_AS, (mapped + 3 * GIGABYTE, hard))
    try:
        np.testing.assert_allclose(memory.available(), min(free, GIGABYTE), rtol=0.1)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def test_nothing_is_made_before(config, tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 0.0)
    with pytest.raises(ConfigError, match=r"may use 0\.0 GB.* No size of the model fits\."):
        train(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()
