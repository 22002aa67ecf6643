"""What the benchmarks share: timing, the machine, and output."""

import contextlib
import json
import os
import pathlib
import platform
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from quatre_tf.atomic_files import output_file


def milliseconds(call: Callable[[], Any], *, repeats: int = 15, warm_up: int = 3) -> float:
    """Returns the median time of `call`, which must not return before its work is done."""
    for _ in range(warm_up):
        call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1e3 * float(np.median(times))


def interleaved(calls: dict[str, Callable[[], Any]], *, rounds: int = 15) -> dict[str, float]:
    """Returns the median milliseconds of each call, taken in turns.

    On a shared machine the speed drifts: in turns, all calls see the same drift, and their ratios
    hold where the times do not.
    """
    times: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        milliseconds(call, repeats=1)
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(milliseconds(call, repeats=1, warm_up=0))
    return {name: float(np.median(values)) for name, values in times.items()}


def repeated(part: Callable[[], Any], times: int) -> Callable[[], Any]:
    """Returns a compiled call that does a part so often and waits for the end.

    What a call costs is spread over them, as in training.

    Args:
        part: Returns a scalar float32 tensor, after its work.
        times: How often.
    """
    import tensorflow as tf

    @tf.function(autograph=False)
    def loop() -> tf.Tensor:
        def body(done: tf.Tensor, total: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            return done + 1, total + part()

        start = (tf.constant(0), tf.constant(0.0))
        return tf.while_loop(lambda done, _: done < times, body, start, parallel_iterations=1)[1]

    return lambda: loop().numpy()


@contextlib.contextmanager
def on_cores(count: int) -> Iterator[None]:
    """Confines all threads of this process to its first `count` cores, and lets them go again.

    Every thread by itself: the affinity of a process is no more than that of its first thread.
    """
    before = os.sched_getaffinity(0)
    _confine(sorted(before)[:count])
    try:
        yield
    finally:
        _confine(sorted(before))


def peak_memory() -> int:
    """Returns the peak resident memory of this process so far, in bytes."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def command(program: str, **given: Any) -> str:
    """Returns the command of a benchmark with the flags given; those that are None are left out."""
    flags = [f"--{name}={value}" for name, value in given.items() if value is not None]
    return " ".join([f"python -m benchmarks.{program}", *flags])


def machine() -> dict[str, Any]:
    """Returns what a figure needs beside it: processor, cores, versions, compiled parts."""
    import keras
    import tensorflow as tf

    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "tensorflow": tf.__version__,
        "keras": keras.__version__,
        "compiled_paper_step": _is_paper_compiled(),
    }


def write_json(path: str | None, record: dict[str, Any]) -> None:
    """Writes a result beside the machine it was measured on; nothing when `path` is None."""
    if path:
        text = json.dumps({**record, "machine": machine()}, indent=2)
        with output_file(path) as file:
            file.write(text + "\n")


def _confine(cores: Sequence[int]) -> None:
    for thread in os.listdir("/proc/self/task"):
        # It may have ended in the meantime.
        with contextlib.suppress(ProcessLookupError):
            os.sched_setaffinity(int(thread), cores)


def _is_paper_compiled() -> bool:
    from quatre_tf.accelerated.kernel import KernelError
    from quatre_tf.objectives.sampled_logistic import compiled_operation

    try:
        return compiled_operation() is not None
    except KernelError:
        # What was measured did without it.
        return False


def _processor() -> str:
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor()
