"""What the benchmarks share: timing, the machine, JSON output, and small pieces of training."""

import concurrent.futures
import contextlib
import json
import multiprocessing
import os
import pathlib
import platform
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from absl import flags

from datasets.program import place_in_help
from quatre_tf.atomic_files import output_file
from quatre_tf.errors import DataError

if TYPE_CHECKING:
    import tensorflow as tf

    from quatre_tf import KGEModel
    from quatre_tf.data.graph import Graph
    from trainers.training.trainer import Trainer


T = TypeVar("T")

_OUTPUT = flags.DEFINE_string("output", None, "JSON file to write.")
place_in_help("output", "output")
# Flags that change nothing that is measured.
_NOT_IN_COMMAND = ("output", "manual_dir")
# Seconds between two looks at a file; negligible compared with an import.
_POLL_SECONDS = 0.005
# Entities in a product. Smaller tiles pay for more operations, larger ones leave the cache.
_ENTITY_TILE = 3072


def milliseconds(call: Callable[[], Any]) -> float:
    """Returns the time of one call, which must not return before its work is done."""
    start = time.perf_counter()
    call()
    return 1e3 * (time.perf_counter() - start)


def interleaved(
    calls: Mapping[str, Callable[[], Any]],
    *,
    rounds: int = 15,
    timer: Callable[[Callable[[], Any]], float] = milliseconds,
) -> dict[str, float]:
    """Returns the median time of each call; the calls take turns.

    The speed of a shared machine drifts. In turns all calls see the same drift, so their ratios
    hold even when the times do not. A first round is not counted: it compiles and fills caches.
    """
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(1 + rounds):
        for name, call in calls.items():
            times[name].append(timer(call))
    return {name: float(np.median(values[1:])) for name, values in times.items()}


def repeated(part: Callable[[], Any], times: int) -> Callable[[], Any]:
    """Returns a compiled call that runs `part` several times and waits for the end.

    This spreads the overhead of a call over many runs, as training does.

    Args:
        part: Does its work and returns a scalar float32 tensor.
        times: Number of runs in a call.
    """
    import tensorflow as tf

    def loop() -> tf.Tensor:
        def body(done: tf.Tensor, total: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            return done + 1, total + part()

        start = (tf.constant(0), tf.constant(0.0))
        return tf.while_loop(lambda done, _: done < times, body, start, parallel_iterations=1)[1]

    # Traced here: TensorFlow warns of a function that is traced again for each part.
    compiled = tf.function(loop, autograph=False).get_concrete_function()
    return lambda: compiled().numpy()


def training_step(trainer: "Trainer", batch: dict[str, "tf.Tensor"]) -> Callable[[], "tf.Tensor"]:
    """Returns a function that takes one training step on a fixed batch and returns the loss."""

    def step() -> "tf.Tensor":
        objective = trainer.recipe.objective(trainer.model, batch)
        trainer.optimizer.apply(objective.gradients, trainer.model.trainable_variables)
        return objective.loss

    return step


def trained_model(graph: "Graph", epochs: int, **given: Any) -> "KGEModel":
    """Returns a model after some epochs of the `sampled` preset; after none, its initial values.

    Args:
        graph: What it learns.
        epochs: Number of epochs.
        **given: Settings of `TrainConfig`.
    """
    import tensorflow as tf

    from trainers.training import presets
    from trainers.training.trainer import Trainer

    config = presets.resolve(graph.name, "sampled", given | {"epochs": max(epochs, 1)})
    trainer = Trainer(config, graph, tf.distribute.get_strategy())
    if epochs:
        trainer.train(epochs * trainer.recipe.steps_per_epoch)
    return trainer.model


def ranking_baseline(
    model: "KGEModel", num_queries: int, query_tile: int = 512
) -> Callable[[], Any]:
    """Returns a call of the least work of a ranking, tile by tile, and nothing else.

    For sums of components (`Separable`) it is one compiled pass over them; for MuRP two float64
    products; for all others a float32 product.

    Args:
        model: Its entity table is compared with random queries.
        num_queries: Number of queries that are scored with all entities.
        query_tile: Queries in a tile.
    """
    import tensorflow as tf

    from quatre_tf.layers.murp import MuRP
    from quatre_tf.similarities import Separable

    similarity = model.similarity("tail")
    # Read once: a variable would be copied for each tile.
    table = tf.convert_to_tensor(model.entities.embeddings.value)
    entities = tf.cast(table, similarity.dtype)
    queries = tf.random.normal([query_tile, entities.shape[1]], dtype=entities.dtype)

    def tile(rows: tf.Tensor, some: tf.Tensor) -> tf.Tensor:
        if isinstance(similarity, Separable):
            return similarity.tile(rows, some)
        columns = tf.transpose(some)
        scores = tf.linalg.matmul(rows, columns)
        if isinstance(model.score_function, MuRP):
            # Of other operands, or TensorFlow would compute only one.
            scores += tf.linalg.matmul(rows, -columns)
        return scores

    @tf.function
    def ranking() -> tf.Tensor:
        total = tf.constant(0.0, entities.dtype)
        for first in tf.range(0, num_queries, query_tile):
            some = queries[: num_queries - first]
            for start in tf.range(0, entities.shape[0], _ENTITY_TILE):
                tf.autograph.experimental.set_loop_options(parallel_iterations=1)
                total += tile(entities[start : start + _ENTITY_TILE], some)[0, 0]
        return total

    return lambda: ranking().numpy()


def in_process(function: Callable[..., T], *arguments: Any) -> T:
    """Calls a function in a fresh process, not a copy of this one."""
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as process:
        return process.submit(function, *arguments).result()


@contextlib.contextmanager
def on_cores(count: int) -> Iterator[None]:
    """Confines all threads of this process to its first `count` cores.

    Each thread is confined by itself: the affinity of a process is that of its first thread only.
    """
    before = os.sched_getaffinity(0)
    _confine(sorted(before)[:count])
    try:
        yield
    finally:
        _confine(sorted(before))


def _confine(cores: Sequence[int]) -> None:
    for thread in os.listdir("/proc/self/task"):
        # It may have ended in the meantime.
        with contextlib.suppress(ProcessLookupError):
            os.sched_setaffinity(int(thread), cores)


def run(command: Sequence[str], path: pathlib.Path | None = None) -> tuple[float, int]:
    """Runs a command.

    Args:
        command: The command.
        path: A file that grows; the command is then killed. It need not exist before.

    Returns:
        Its seconds, or those until it has written to the file; and its peak memory in bytes.

    Raises:
        DataError: The command fails, or ends without having written to the file.
    """
    start = time.perf_counter()
    before = _size(path)
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        while path and (size := _size(path)) <= before and _is_running(process):
            # A resumed run first drops the lines of lost work.
            before = size
            time.sleep(_POLL_SECONDS)
        taken = time.perf_counter() - start
        if path and _is_running(process):
            process.kill()
        _, status, usage = os.wait4(process.pid, 0)
        if _size(path) <= before if path else status:
            output.seek(0)
            last = output.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
            raise DataError(f"`{' '.join(command)}` failed. It said: {last}")
    return taken if path else time.perf_counter() - start, 1024 * usage.ru_maxrss


def _is_running(process: subprocess.Popen) -> bool:
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def _size(path: pathlib.Path | None) -> int:
    return path.stat().st_size if path and path.exists() else 0


def peak_memory() -> int:
    """Returns the peak resident memory of this process so far, in bytes."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def machine() -> dict[str, Any]:
    """Returns the processor, number of cores, versions, and if compiled operations are used."""
    import keras
    import tensorflow as tf

    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "tensorflow": tf.__version__,
        "keras": keras.__version__,
        "compiled_operations": _has_compiled_operations(),
    }


def _has_compiled_operations() -> bool:
    from quatre_tf.accelerated import kernel

    try:
        return kernel.operations() is not None
    except kernel.KernelError:
        return False


def _processor() -> str:
    path = pathlib.Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def write_result(record: Mapping[str, Any]) -> None:
    """Writes a result to --output, if given, with its command and the machine it is from."""
    if _OUTPUT.value:
        name = pathlib.Path(sys.argv[0]).stem
        given = [flags.FLAGS[flag] for flag in flags.FLAGS if flag not in _NOT_IN_COMMAND]
        arguments = [flag.serialize() for flag in given if flag.present]
        command = shlex.join(["python", "-m", f"benchmarks.{name}", *arguments])
        origin = {"benchmark": name, "command": command}
        text = json.dumps({**origin, **record, "machine": machine()}, indent=2)
        with output_file(_OUTPUT.value) as file:
            file.write(text + "\n")


def curve_of(records: Sequence[dict[str, Any]]) -> list[dict[str, float]]:
    """Returns the full validations in order; one that a resumed run repeated counts once."""
    points = {record["step"]: record for record in records if record["group"] == "valid/all"}
    left_out = ("group", "step")
    return [
        {name: value for name, value in points[step].items() if name not in left_out}
        for step in sorted(points)
    ]
