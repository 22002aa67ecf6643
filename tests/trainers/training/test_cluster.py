import json

import pytest

from quatre_tf.errors import ConfigError
from trainers.training.cluster import Cluster

TWO_WORKERS = {"worker": ["a:1", "b:1"]}
SERVERS = {"chief": ["a:1"], "ps": ["b:1", "c:1"], "worker": ["d:1"]}


@pytest.fixture
def cluster(monkeypatch):
    def build(strategy, addresses, job, index):
        config = {"cluster": addresses, "task": {"type": job, "index": index}}
        monkeypatch.setenv("TF_CONFIG", json.dumps(config))
        return Cluster.from_environment(strategy)

    return build


@pytest.mark.parametrize("strategy", ["default", "one_device", "mirrored"])
def test_one_process_is_its_own_chief_whatever_tf_config_says(strategy, monkeypatch):
    monkeypatch.setenv("TF_CONFIG", "nonsense")
    cluster = Cluster.from_environment(strategy)
    assert cluster.is_chief
    assert not cluster.is_server


@pytest.mark.parametrize(
    ("strategy", "addresses", "job", "index", "is_chief", "is_server"),
    [
        ("multi_worker", TWO_WORKERS, "worker", 0, True, False),
        ("multi_worker", TWO_WORKERS, "worker", 1, False, False),
        ("parameter_server", SERVERS, "chief", 0, True, False),
        ("parameter_server", SERVERS, "ps", 0, False, True),
        ("parameter_server", SERVERS, "worker", 0, False, True),
    ],
)
def test_roles(cluster, strategy, addresses, job, index, is_chief, is_server):
    found = cluster(strategy, addresses, job, index)
    assert (found.is_chief, found.is_server) == (is_chief, is_server)
    assert found.count("ps") == len(addresses.get("ps", ()))


@pytest.mark.parametrize(
    ("strategy", "addresses", "job", "index"),
    [
        ("multi_worker", SERVERS, "worker", 0),
        ("multi_worker", TWO_WORKERS, "worker", 2),
        ("multi_worker", TWO_WORKERS, "chief", 0),
        ("multi_worker", ["a:1"], "worker", 0),
        ("parameter_server", TWO_WORKERS, "worker", 0),
        ("parameter_server", SERVERS, "ps", -1),
        ("multi_worker", {"worker": "a:1"}, "worker", 0),
        ("multi_worker", {"worker": [1, 2]}, "worker", 0),
        ("multi_worker", {"worker": ["a", "b"]}, "worker", 0),
        ("multi_worker", TWO_WORKERS, ["worker"], 0),
        ("multi_worker", TWO_WORKERS, "worker", 0.7),
    ],
)
def test_a_cluster_that_is_not_for_the_strategy_is_refused(
    cluster, strategy, addresses, job, index
):
    message = f"--strategy={strategy} needs the environment variable TF_CONFIG=.*Received: "
    with pytest.raises(ConfigError, match=message):
        cluster(strategy, addresses, job, index)


@pytest.mark.parametrize("text", [None, "", "{", "[]", '{"cluster": {}}'])
def test_a_malformed_tf_config_is_refused(text, monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    if text is not None:
        monkeypatch.setenv("TF_CONFIG", text)
    with pytest.raises(ConfigError, match=r'"worker": \["host:port", ...\]'):
        Cluster.from_environment("multi_worker")
