"""Processes of a cluster on this machine, as many as a test needs."""

import contextlib
import ctypes
import itertools
import json
import os
import pathlib
import signal
import socket
import time

from tests.commands import FORKED, replace_environment
from tests.trainers.training import misfortunes

# Below the ports that Linux gives to whoever asks for any (32768 and up), so that nobody takes one
# before the cluster does; test processes start in different places.
_PORTS = itertools.count(20_000 + 12 * (os.getpid() % 1000))


def cluster(**counts):
    """Returns the addresses of a cluster on free ports of loopback, by job."""
    free = (f"127.0.0.1:{port}" for port in _PORTS if _is_free(port))
    return {job: [next(free) for _ in range(count)] for job, count in counts.items()}


def _is_free(port):
    with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
        return True
    return False


def tf_config(addresses, job, index):
    return json.dumps({"cluster": addresses, "task": {"type": job, "index": index}})


class Processes:
    """Starts processes, and ends those that are left when the test is over."""

    def __init__(self, folder: pathlib.Path):
        self._folder, self._started = folder, []

    def start(self, function, *arguments, environment, **options):
        """Calls a function of a module in a process of its own; its output goes to a file."""
        output = self._folder / f"process-{len(self._started)}.txt"
        # The server that forks has the environment of the test that was the first to need it.
        environment = os.environ | environment
        process = FORKED.Process(
            target=_call, args=(function, arguments, options, environment, output), daemon=True
        )
        process.start()
        process.output = output
        self._started.append(process)
        return process

    def start_cluster(self, addresses, *arguments, of=None):
        """Starts `trainers.fit` in every task, of a larger cluster if that is given.

        Returns the processes by (job, index).
        """
        return {
            (job, index): self.start(
                misfortunes.fit,
                arguments,
                environment={"TF_CONFIG": tf_config(of or addresses, job, index)},
            )
            for job, hosts in addresses.items()
            for index in range(len(hosts))
        }

    def close(self):
        for process in self._started:
            process.kill()
            process.join()


def wait(process, timeout=240):
    """Returns (exit code, output)."""
    process.join(timeout)
    text = process.output.read_text() if process.output.exists() else ""
    assert process.exitcode is not None, f"no end after {timeout} s:\n{text}"
    return process.exitcode, text


def wait_for(condition, processes, timeout=240):
    """Waits until a condition holds; none of the processes may end meanwhile."""
    deadline = time.monotonic() + timeout
    while not condition():
        for process in processes:
            assert process.is_alive(), process.output.read_text()
        assert time.monotonic() < deadline
        time.sleep(0.1)


def _call(function, arguments, options, environment, output):
    # Ends with the test run, however that ends: PR_SET_PDEATHSIG.
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    # A shell starts background jobs with SIGINT ignored, and children inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    replace_environment(environment)
    file = os.open(output, os.O_WRONLY | os.O_CREAT)
    os.dup2(file, 1)
    os.dup2(file, 2)
    function(*arguments, **options)
