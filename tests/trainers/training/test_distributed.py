"""The same numbers under every strategy, in one process and in several on loopback."""

import contextlib

import keras
import numpy as np
import pytest
import tensorflow as tf

from quatre_tf.errors import ConfigError
from quatre_tf.paths import BEST_MODEL
from tests.trainers.training import distributed_case
from tests.trainers.training.distributed_case import CONFIGS, STEPS
from tests.trainers.training.processes import Processes, cluster, tf_config, wait
from tests.trainers.training.wiring import eagerly
from trainers.training.server_trainer import ServerTrainer

RECIPES = tuple(CONFIGS)
# The strong recipe is refused on servers.
OF_SERVERS = ("paper", "conve")
# The paper's recipe on workers is in test_cluster_programs.py.
OF_WORKERS = ("strong", "conve")


@pytest.fixture(scope="module")
def processes(tmp_path_factory):
    with contextlib.closing(Processes(tmp_path_factory.mktemp("processes"))) as found:
        yield found


@pytest.fixture(scope="module")
def expected():
    """Under the default strategy, whose steps test_golden_training.py holds to the reference's.

    Not compiled, in contrast to what is held to it.
    """
    with eagerly():
        return {r: distributed_case.train(r, tf.distribute.get_strategy()) for r in RECIPES}


def assert_same(found, expected):
    for name in ("losses", "regularizations", "norms"):
        assert len(found[name]) == STEPS
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-5, err_msg=name)
    if "ranks" in found:
        np.testing.assert_array_equal(found["ranks"], expected["ranks"])
    for name in (
        name for name in expected if name.startswith(("tables", "statistics", "optimizer"))
    ):
        # The first step of Adagrad and Adam is that of the sign: it makes rounding near 0 visible.
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-4, atol=1e-4, err_msg=name)


@pytest.mark.parametrize(
    ("recipe", "strategy"),
    [("paper", "one_device"), ("paper", "mirrored"), ("strong", "mirrored")],
    indirect=["strategy"],
)
def test_one_process(recipe, strategy, expected):
    """Compiled, the paper's steps are in test_golden_training.py, the strong ones below."""
    with eagerly():
        assert_same(distributed_case.train(recipe, strategy), expected[recipe])


@pytest.mark.parametrize("strategy", ["mirrored"], indirect=True)
def test_one_process_that_compiles(strategy, expected):
    assert_same(distributed_case.train("conve", strategy), expected["conve"])


@pytest.fixture(scope="module")
def multi_worker(processes, tmp_path_factory):
    """Two workers, each a process with a replica; what each of them found, by recipe."""
    folder, addresses = tmp_path_factory.mktemp("multi_worker"), cluster(worker=2)
    workers = [
        processes.start(
            distributed_case.save_multi_worker,
            OF_WORKERS,
            folder / f"worker-{index}",
            environment={"TF_CONFIG": tf_config(addresses, "worker", index)},
        )
        for index in range(2)
    ]
    for worker in workers:
        code, output = wait(worker)
        assert code == 0, output
    return {r: [np.load(folder / f"worker-{i}-{r}.npz") for i in range(2)] for r in OF_WORKERS}


@pytest.mark.parametrize("recipe", OF_WORKERS)
def test_multi_worker(recipe, multi_worker, expected):
    """Both workers, because both have the whole of it."""
    for found in multi_worker[recipe]:
        assert_same(found, expected[recipe])


def run_parameter_server(processes, addresses, recipes, output, **options):
    """Returns what was found, by recipe."""
    process = processes.start(
        distributed_case.save_parameter_server,
        recipes,
        output,
        environment={"TF_CONFIG": tf_config(addresses, "chief", 0)},
        **options,
    )
    code, text = wait(process)
    assert code == 0, text
    return {recipe: np.load(f"{output}-{recipe}.npz") for recipe in recipes}


@pytest.fixture(scope="module")
def two_servers(processes, tmp_path_factory):
    """Two servers and a worker, from the start; with the folder of its checkpoints."""
    folder = tmp_path_factory.mktemp("two_servers")
    addresses = cluster(chief=1, ps=2, worker=1)
    saved = {"saved_to": folder / "checkpoint", "best_to": folder / "run"}
    found = run_parameter_server(processes, addresses, OF_SERVERS, folder / "found", **saved)
    return found, folder / "checkpoint"


@pytest.mark.parametrize("recipe", OF_SERVERS)
def test_parameter_server(recipe, two_servers, expected):
    found, _ = two_servers
    assert_same(found[recipe], expected[recipe])


def test_a_sharded_checkpoint_holds_whole_tables_and_accumulators(two_servers):
    found, folder = two_servers
    reader = tf.train.load_checkpoint(f"{folder}-paper")
    for kind in ("tables", "optimizer/accumulator"):
        for i, rows in enumerate((31, 4, 4, 4)):
            saved = reader.get_tensor(f"{kind}/{i}/.ATTRIBUTES/VARIABLE_VALUE")
            assert saved.shape == (rows, 12)
            np.testing.assert_array_equal(saved, found["paper"][f"{kind}-{i}"])


@pytest.mark.parametrize("recipe", OF_SERVERS)
def test_the_best_model_and_its_export_come_from_the_servers(recipe, two_servers):
    found, checkpoint = two_servers
    run_dir = checkpoint.with_name(f"run-{recipe}")
    model, graph = keras.models.load_model(run_dir / BEST_MODEL), distributed_case.random_graph()
    for i, table in enumerate(model.trainable_variables):
        np.testing.assert_array_equal(table, found[recipe][f"tables-{i}"])
    served = tf.saved_model.load(str(run_dir / "served" / "1"))
    names = [
        tf.constant([f"{kind}{i}" for i in column])
        for kind, column in zip("ere", graph.test.T, strict=True)
    ]
    scores = served.score_triples(*names)["score"]
    np.testing.assert_allclose(scores, model.score_triples(*graph.test.T), rtol=1e-5, atol=1e-6)
    ranks = [served.rank_heads(*names)["rank"], served.rank_tails(*names)["rank"]]
    np.testing.assert_array_equal(ranks, found[recipe]["ranks"])


def test_a_sharded_checkpoint_restores_into_other_shards_and_into_none(
    two_servers, processes, tmp_path
):
    """From two servers to three, and to a model in one process: the same five steps follow.

    The three servers have two workers. In step they are exact, because each step waits for the one
    before; five steps at once are not: each may miss what another worker is about to write.
    """
    _, folder = two_servers
    options = {"resumed_from": folder, "at_once": 5}
    addresses = cluster(chief=1, ps=3, worker=2)
    found = run_parameter_server(processes, addresses, ("paper",), tmp_path / "found", **options)[
        "paper"
    ]
    options["resumed_from"] = f"{folder}-paper"
    with eagerly():
        whole = distributed_case.train("paper", tf.distribute.get_strategy(), **options)
    assert_same(found, whole)
    assert found["late"] == pytest.approx(whole["late"], rel=0.05)


def test_the_recipe_that_reads_the_table_is_refused_on_servers():
    graph = distributed_case.random_graph()
    with pytest.raises(ConfigError, match=r"--recipe=strong .* Use --recipe=sampled"):
        ServerTrainer(CONFIGS["strong"], graph, tf.distribute.get_strategy())
