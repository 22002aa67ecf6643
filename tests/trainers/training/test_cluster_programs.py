"""The programs of a cluster as a person starts them, and what is left when one of them dies."""

import dataclasses
import json
import os
import signal

import numpy as np

from tests.trainers.training.processes import cluster, wait, wait_for
from tests.trainers.training.survival import last_step, read_records, state
from tests.trainers.training.wiring import eagerly
from trainers.training.config import TrainConfig
from trainers.training.fitting import train


def endless(family, run_dir, strategy):
    """A run that only a signal ends."""
    sizes = ["--embedding_dim=4", "--num_negatives=2", "--batch_size=9", "--steps_per_epoch=1"]
    settings = ["--recipe=paper", "--l2=0.01", *sizes]
    length = ["--epochs=1000000", "--validate_every=5", "--patience=0"]
    places = [f"--dataset={family}", f"--run_dir={run_dir}", f"--strategy={strategy}"]
    return [*places, *settings, *length]


def in_one_process(run_dir, **settings):
    """The settings of a run of a cluster, but for its strategy and others."""
    stored = TrainConfig.from_file(run_dir / "config.json")
    return dataclasses.replace(stored, strategy="default", **settings)


def test_a_lost_worker_ends_the_run_and_resume_goes_on(family, processes, tmp_path, use_kernel):
    run_dir, addresses = tmp_path / "run", cluster(worker=2)
    arguments = endless(family, run_dir, "multi_worker")
    workers = processes.start_cluster(addresses, *arguments)
    wait_for(lambda: last_step(run_dir) > 0, workers.values())
    workers["worker", 1].kill()
    code, text = wait(workers["worker", 0])
    assert code == 1
    assert "negatives (compiled) per step" in text
    last_line = text.splitlines()[-1]
    assert last_line.startswith("error: A process of the cluster was lost")
    assert f"--run_dir={run_dir} --resume" in last_line

    # Ten more, and then the same number in one process.
    last = 5 * (last_step(run_dir) // 5) + 10
    arguments = [f"--run_dir={run_dir}", "--resume", f"--epochs={last}"]
    for worker in processes.start_cluster(cluster(worker=2), *arguments).values():
        code, text = wait(worker)
        assert code == 0, text
        assert "UNAVAILABLE" not in text
    assert last_step(run_dir) == last
    with eagerly():
        train(in_one_process(run_dir), tmp_path / "whole")
    whole = state(tmp_path / "whole")
    for name, value in state(run_dir).items():
        np.testing.assert_allclose(value, whole[name], rtol=1e-3, atol=1e-3, err_msg=name)
    tested = json.loads((run_dir / "test_metrics.json").read_text())
    assert tested["num_triples"] == 8


def test_servers_outlive_a_worker_and_the_run_goes_on_without_them(
    family, processes, tmp_path, use_kernel
):
    """Their steps are not compiled: the worker that one is sent to might not have the library."""
    run_dir, addresses = tmp_path / "run", cluster(chief=1, ps=2, worker=2)
    arguments = endless(family, run_dir, "parameter_server")
    tasks = processes.start_cluster(addresses, *arguments)
    wait_for(lambda: last_step(run_dir) > 0, tasks.values())
    lost = tasks.pop(("worker", 0))
    lost.kill()
    lost.join()
    before = last_step(run_dir)
    wait_for(lambda: last_step(run_dir) > before + 5, tasks.values())
    os.kill(tasks["chief", 0].pid, signal.SIGTERM)
    code, text = wait(tasks["chief", 0])
    assert code == 0, text
    assert "2 negatives per step" in text
    last_line = text.splitlines()[-1]
    assert last_line.startswith("Stopped by SIGTERM.")
    assert f"--run_dir={run_dir} --resume" in last_line

    before = last_step(run_dir)
    restarted = {"chief": addresses["chief"], "worker": addresses["worker"][:1]}
    again = processes.start_cluster(restarted, f"--run_dir={run_dir}", "--resume", of=addresses)
    wait_for(lambda: last_step(run_dir) > before, again.values())
    tasks["ps", 1].kill()
    code, text = wait(again["chief", 0])
    assert code == 1
    last_line = text.splitlines()[-1]
    assert last_line.startswith("error: A process of the cluster was lost")

    last = last_step(run_dir) + 5
    with eagerly():
        train(in_one_process(run_dir, epochs=last), run_dir, resume=True)
    assert last_step(run_dir) == last
    assert read_records(run_dir, "valid/all")[-1]["step"] == last
