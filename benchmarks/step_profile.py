"""Profiles training steps, and keeps what takes the time as text.

Usage: python -m benchmarks.step_profile --dataset=wn18rr [--recipe=sampled] [--output=FILE.txt]

Steps are taken as in training, their input pipeline included, under the profiler of TensorFlow;
`--logdir` keeps its trace for TensorBoard. The text has an event a line: what it took by itself,
without what lies inside it, summed over all threads, so that two busy cores make 200 %. Profiling
makes steps slower.
"""

import pathlib
import tempfile
import time
from collections.abc import Sequence
from typing import Any

from absl import flags

from benchmarks import measure, trainer_flags
from benchmarks.trace_summary import Total, threads_of, totals
from datasets.program import run_program
from datasets.text_table import table

_TRAINER = trainer_flags.TrainerFlags()
flags.adopt_module_key_flags(trainer_flags)
_STEPS = flags.DEFINE_integer("steps", 20, "Steps in the trace.", 1)
_TOP = flags.DEFINE_integer("top", 30, "Lines of the table.", 1)
_LOGDIR = flags.DEFINE_string("logdir", None, "Where to keep the trace. Default: nowhere.")
_OUTPUT = flags.DEFINE_string("output", None, "Text file to write.")
# Compilation and cold caches.
_WARM_UP = 10
_PS_PER_MS = 1e9


def main(argv: Sequence[str]) -> None:
    """Profiles, prints and writes."""
    del argv
    measured = _TRAINER.make("step_profile")
    trainer = measured.trainer
    trainer.train(_WARM_UP)
    with tempfile.TemporaryDirectory() as folder:
        space, milliseconds = _trace(trainer, _LOGDIR.value or folder)
    text = "\n".join(
        [
            measured.command,
            ", ".join(f"{name} {value}" for name, value in measure.machine().items()),
            f"{measured.graph.name}, recipe {measured.config.recipe}: {trainer.recipe.description}",
            f"{milliseconds:.2f} ms a step while profiled, over {_STEPS.value} steps",
            "",
            _table(totals(threads_of(space))[: _TOP.value], milliseconds),
            "",
        ]
    )
    print(text)
    if _OUTPUT.value:
        path = pathlib.Path(_OUTPUT.value)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _trace(trainer: Any, logdir: str) -> tuple[Any, float]:
    """Returns the trace of `--steps` steps, an XSpace, and the milliseconds of one."""
    import tensorflow as tf
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    with tf.profiler.experimental.Profile(logdir):
        start = time.perf_counter()
        trainer.train(_STEPS.value)
        seconds = time.perf_counter() - start
    last = max(pathlib.Path(logdir).rglob("*.xplane.pb"), key=lambda path: path.stat().st_mtime)
    return xplane_pb2.XSpace.FromString(last.read_bytes()), 1e3 * seconds / _STEPS.value


def _table(found: Sequence[Total], milliseconds: float) -> str:
    """Returns a line each event: by itself in a step, as a share of the step, how often."""
    rows = [["event", "ms a step", "of the step", "times a step"]]
    for total in found:
        own = total.self_time / _PS_PER_MS / _STEPS.value
        times = total.number / _STEPS.value
        rows.append([total.label, f"{own:.3f}", f"{own / milliseconds:.1%}", f"{times:g}"])
    return table(rows)


if __name__ == "__main__":
    run_program(main)
